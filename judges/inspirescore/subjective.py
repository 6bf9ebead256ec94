"""The four judged dimensions: each side of a round, or of the whole debate, in one look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from judges.inspirescore.aggregation import SUBJECTIVE
from judges.inspirescore.responses import Response, Speaker, rounds_of
from judges.inspirescore.schemas import (
    AnalysedMarks,
    Marks,
    in_batches,
    keyed,
    prompt,
    round_scores,
)
from touche_rad.models import Model, ModelError

Scope = Literal["round", "debate"]


@dataclass(frozen=True)
class Unit:
    """What is scored at once: a round, or the debate."""

    key: str
    name: str
    responses: tuple[Response, ...]

    @property
    def speakers(self) -> list[Speaker]:
        """Who says something in it."""
        return list({one.speaker: one for one in self.responses})


@dataclass(frozen=True)
class Scored:
    """What the model said of a unit."""

    unit: Unit
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By speaker and dimension."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """The analyses, and in the paper's profile the totals and the winner the model thinks of."""
    fault: str = ""


def units_of(responses: Sequence[Response], scope: Scope) -> list[Unit]:
    """Return what is scored at once; who says nothing in it is not scored."""
    said = [one for one in responses if not one.empty]
    if scope == "debate":
        return [Unit("debate", "The whole debate", tuple(said))] if said else []
    return [
        Unit(f"round_{ours[0].round}", f"Round {ours[0].round}", tuple(ours))
        for ours in rounds_of(said)
        if ours
    ]


async def scored(
    model: Model, motion: str, info: str, units: Sequence[Unit], *, size: int, detailed: bool
) -> list[Scored]:
    """Score the units, `size` of them in a call."""

    async def ask(batch: Sequence[Unit]) -> list[Scored]:
        speakers = list({one: one for unit in batch for one in unit.speakers})
        messages = prompt("subjective").messages(
            motion=motion, info=info, units=batch, detailed=detailed,
            labels=[one.label for one in speakers], keys=[one.key for one in speakers],
        )  # fmt: skip
        schema = keyed("Subjective", {unit.key: _schema(unit, detailed) for unit in batch})
        answer = await model.ask(messages, schema, step="inspirescore.subjective")
        return [_read(unit, getattr(answer, unit.key)) for unit in batch]

    found = await in_batches(model, units, size, ask)
    return [
        Scored(unit, fault=str(one)) if isinstance(one, ModelError) else one
        for unit, one in zip(units, found, strict=True)
    ]


def _schema(unit: Unit, detailed: bool) -> type[BaseModel]:
    speakers = unit.speakers
    keys, labels = [one.key for one in speakers], [one.label for one in speakers]
    return round_scores(f"Scores_{unit.key}", keys, labels, detailed)


def _read(unit: Unit, answer: Any) -> Scored:
    scores: dict[str, dict[str, float]] = {}
    analyses: dict[str, Any] = {}
    totals: dict[str, float] = {}
    for speaker in unit.speakers:
        side: Marks | AnalysedMarks = getattr(answer, speaker.key)
        if isinstance(side, Marks):
            scores[speaker.name] = {one: getattr(side, one) for one in SUBJECTIVE}
            analyses[speaker.name] = side.analysis
        else:
            scores[speaker.name] = {one: getattr(side, one).score for one in SUBJECTIVE}
            analyses[speaker.name] = {one: getattr(side, one).analysis for one in SUBJECTIVE}
            totals[speaker.name] = side.total_score
    told: dict[str, Any] = {"analysis": analyses}
    if totals:
        named = {one.label: one.name for one in unit.speakers}
        told |= {"total_told": totals, "winner_told": named[answer.winner], "reason": answer.reason}
    return Scored(unit, scores, told)
