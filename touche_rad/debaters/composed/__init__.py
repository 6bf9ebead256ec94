"""The debater that writes, and stands by what its arguments say."""

from touche_rad.debaters.composed._debater import Composed

__all__ = ["Composed"]
