"""SINAI's debater: a plan, queries, retrieval by three strategies, selection, a response."""

from touche_rad.debaters.sinai._debater import Sinai

__all__ = ["Sinai"]
