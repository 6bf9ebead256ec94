"""The image, really built and run."""
