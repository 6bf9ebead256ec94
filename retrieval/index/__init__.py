"""The embedded index: analyser, engine, store, and the folder they are in."""

__all__ = ["analyser", "annotations", "engine", "parts", "pisa", "postings", "statements", "store"]
