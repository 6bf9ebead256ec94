"""Train encoders on a collection (`touche-rad train encoder`)."""
