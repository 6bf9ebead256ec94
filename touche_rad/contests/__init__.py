"""Whole debates: played by two debaters, imported, scored, in tournaments."""
