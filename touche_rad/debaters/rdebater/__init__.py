"""R-Debater: the opponent's logic, remembered arguments with their schemes, and a draft revised."""

from touche_rad.debaters.rdebater._debater import Rdebater

__all__ = ["Rdebater"]
