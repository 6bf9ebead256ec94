"""Judges of single turns by the four maxims."""

__all__ = ["grounded", "jury", "panel", "reference", "sinai"]
