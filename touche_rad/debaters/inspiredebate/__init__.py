"""InspireDebate's debater: search terms, evidence, reasoning before the argument."""

from touche_rad.debaters.inspiredebate._debater import InspireDebate

__all__ = ["InspireDebate"]
