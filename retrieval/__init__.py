"""The argument index and what searches it."""

__all__ = ["chains", "dense", "elastic", "index", "irds", "public", "retrievers", "stance", "web"]
