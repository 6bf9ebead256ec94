"""The loop: a candidate is judged, mended and judged again until it may be said.

The paper's loop ends when all criteria are met, whenever that is. Here it also ends after so many
revisions, when the turn's calls are spent, and when a revision says what was judged before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from touche_rad.debaters.rdebater.gate import Gate, Summary, Verdict
from touche_rad.debaters.rdebater.writing import Candidate
from touche_rad.models import ModelError
from touche_rad.models.faults import OverBudget
from touche_rad.text import words

Stop = Literal["accepted", "revisions", "repeated", "budget", "model", "unasked"]
Rules = Callable[[Candidate], Sequence[str]]


@dataclass(frozen=True)
class Attempt:
    """A candidate, and what was found of it if it was judged."""

    candidate: Candidate
    summary: Summary | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Revised:
    """All attempts in order, why the loop ended, and which of them stands."""

    attempts: tuple[Attempt, ...]
    stop: Stop

    @property
    def accepted(self) -> bool:
        """Whether what stands met all criteria."""
        return self.stop == "accepted"

    def best(self, rules: Rules) -> Candidate:
        """Return what is said.

        The accepted one; else a last revision that could not be judged any more, if it breaks no
        rule, since it was made against what was found; else the one that met most, the later.
        """
        last = self.attempts[-1]
        if self.accepted or (last.verdict is None and not rules(last.candidate)):
            return last.candidate
        judged = [one for one in self.attempts if one.verdict is not None] or [last]
        return max(
            reversed(judged), key=lambda one: one.verdict.met if one.verdict else 0
        ).candidate


async def revised(first: Candidate, gate: Gate, rules: Rules, most: int) -> Revised:
    """Judge the first candidate and revise it.

    Args:
        first: The draft.
        gate: Who judges and mends.
        rules: What code finds against a candidate.
        most: The most revisions.
    """
    attempts: list[Attempt] = []
    candidate = first
    for revision in range(most + 1):
        try:
            summary, found = await gate.judged(candidate, rules(candidate))
        except ModelError as error:
            return Revised((*attempts, Attempt(candidate)), _stop(error))
        attempts.append(Attempt(candidate, summary, found))
        if found.accepted:
            return Revised(tuple(attempts), "accepted")
        if revision == most:
            break
        try:
            candidate = await gate.modified(candidate, found)
        except ModelError as error:
            return Revised(tuple(attempts), _stop(error))
        if not candidate.text or _plain(candidate) in {_plain(one.candidate) for one in attempts}:
            return Revised(tuple(attempts), "repeated")
    return Revised(tuple(attempts), "revisions")


def _stop(error: ModelError) -> Stop:
    return "budget" if isinstance(error, OverBudget) else "model"


def _plain(candidate: Candidate) -> str:
    return " ".join(words(candidate.text))
