"""The debater `grounded`: quotes the arguments that it cites."""

from touche_rad.debaters.grounded.debater import Grounded

__all__ = ["Grounded"]
