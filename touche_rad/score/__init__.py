"""Scores of runs, through ir-measures."""
