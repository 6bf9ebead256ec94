"""The reference judge that says yes to everything."""

from __future__ import annotations

from touche_rad.debate import Debate, Maxim, Verdict
from touche_rad.plugins import Options, Services


class AlwaysYes:
    """Says yes on every maxim: the official baseline, which no submitted judge beat."""

    def __init__(self, options: Options, services: Services) -> None:
        """Take nothing from either."""

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Give every maxim a score of 1."""
        return {maxim: Verdict(score=1.0, rationale="always yes") for maxim in Maxim}
