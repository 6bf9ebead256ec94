"""Judges, one folder for each family."""
