"""Judges of single turns by the four maxims."""

__all__ = ["adapters", "grounded", "jury", "panel", "reference", "sinai"]
