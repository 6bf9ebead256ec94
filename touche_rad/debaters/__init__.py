"""Debaters, one file or folder each; the core finds them by entry point."""

__all__ = ["composed", "grounded", "inspiredebate", "rdebater", "sinai", "verbatim"]
