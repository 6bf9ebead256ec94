"""Judges of single turns by the four maxims."""
