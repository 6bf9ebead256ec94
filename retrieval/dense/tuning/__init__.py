"""Train encoders on a collection (`touche-rad train encoder`)."""

__all__ = ["training"]
