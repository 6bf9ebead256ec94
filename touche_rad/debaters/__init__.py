"""Debaters, one file or folder each; the core finds them by entry point."""

__all__ = ["best_of_n", "composed", "grounded", "inspiredebate", "rdebater", "sinai", "verbatim"]
