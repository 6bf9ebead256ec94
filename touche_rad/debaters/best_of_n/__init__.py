"""The best of several answers, by any judge."""

from touche_rad.debaters.best_of_n.debater import BestOfN

__all__ = ["BestOfN"]
