"""Judges, one folder for each family."""

__all__ = ["debatrix", "debgraph", "grice", "inspirescore"]
