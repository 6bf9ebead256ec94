"""touche-rad: debaters, judges and the bench for Touché's Retrieval-Augmented Debating."""

__version__ = "0.1.0"
