"""SINAI's debater: a plan, queries, retrieval by three strategies, selection, a response."""

from touche_rad.debaters.sinai.debater import Sinai

__all__ = ["Sinai"]
