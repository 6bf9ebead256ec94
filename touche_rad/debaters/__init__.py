"""Debaters, one file or folder each; the core finds them by entry point."""
