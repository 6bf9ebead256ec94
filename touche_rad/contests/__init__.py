"""Whole debates: played by two debaters, imported, scored, in tournaments."""

__all__ = ["foreign", "score_report", "scoring", "tournament", "two_sides"]
