"""The debater `grounded`: what it says stands, word for word, in what it cites."""

from touche_rad.debaters.grounded.debater import Grounded

__all__ = ["Grounded"]
