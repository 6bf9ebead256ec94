"""The four judged dimensions: all sides of a round, or of the whole debate, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import BaseModel

from judges.inspirescore._options import InspireScoreOptions
from judges.inspirescore._responses import Response, Speaker
from judges.inspirescore._schemas import Marks, ask_with_room, form, keyed, part_size, round_scores
from judges.inspirescore.aggregation import SUBJECTIVE
from touche_rad.models import Model, Prompt, ask_in_parts

TOKENS_PER_MARKS: Final = 160
"""Token limit of an answer for the scores of a side in a round."""
TOKENS_PER_ANALYSES: Final = 400
TOKENS_PER_REASON: Final = 640


@dataclass(frozen=True)
class Unit:
    """What is scored at once: a round or the whole debate."""

    key: str
    name: str
    responses: tuple[Response, ...]

    @property
    def speakers(self) -> list[Speaker]:
        """The speakers who say something in it."""
        return list(dict.fromkeys(response.speaker for response in self.responses))


@dataclass(frozen=True)
class UnitScores:
    """The model's scores of a unit."""

    unit: Unit
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By speaker and dimension."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """The analyses; with the setting `detailed` also the model's totals, winner and reason."""
    fault: str = ""


def units_of(responses: Sequence[Response], scope: Literal["round", "debate"]) -> list[Unit]:
    """Return the units to score; empty responses are left out."""
    spoken = [response for response in responses if not response.empty]
    if scope == "debate":
        return [Unit("debate", "The whole debate", tuple(spoken))] if spoken else []
    return [
        Unit(f"round_{number}", f"Round {number}", tuple(r for r in spoken if r.round == number))
        for number in sorted({response.round for response in spoken})
    ]


async def score_units(
    model: Model, motion: str, info: str, units: Sequence[Unit], options: InspireScoreOptions
) -> list[UnitScores]:
    """Score the units, several in a call."""
    detailed = options.detailed
    speakers = max((len(unit.speakers) for unit in units), default=1)
    texts = ["\n".join(response.shown for response in unit.responses) for unit in units]
    size = part_size(texts, max(1, options.batch // speakers), options.characters_per_call)

    async def ask(batch: Sequence[Unit]) -> list[UnitScores]:
        schemas = {}
        for unit in batch:
            keys, labels = [s.key for s in unit.speakers], [s.label for s in unit.speakers]
            schemas[unit.key] = round_scores(f"Scores_{unit.key}", keys, labels, detailed)
        scored = list(dict.fromkeys(speaker for unit in batch for speaker in unit.speakers))
        schema = keyed("Subjective", schemas)
        messages = Prompt.load(__package__, "subjective").messages(
            motion=motion,
            info=info,
            units=batch,
            detailed=detailed,
            speakers=scored,
            form=form(schema),
        )
        marked = sum(len(unit.speakers) for unit in batch)
        limit = marked * (TOKENS_PER_ANALYSES if detailed else TOKENS_PER_MARKS) + len(batch) * (
            TOKENS_PER_REASON if detailed else 0
        )
        answer = await ask_with_room(
            model, messages, schema, "subjective", limit, alone=len(batch) == 1
        )
        answers = dict(answer)
        return [_unit_scores(unit, answers[unit.key]) for unit in batch]

    return await ask_in_parts(units, size, ask, lambda unit, why: UnitScores(unit, fault=why))


def _unit_scores(unit: Unit, answer: BaseModel) -> UnitScores:
    scores: dict[str, dict[str, float]] = {}
    analyses: dict[str, Any] = {}
    totals: dict[str, float] = {}
    parts_of_answer = dict(answer)
    for speaker in unit.speakers:
        marks = parts_of_answer[speaker.key]
        parts = dict(marks)
        values = {name: parts[name] for name in SUBJECTIVE}
        if isinstance(marks, Marks):
            scores[speaker.name], analyses[speaker.name] = values, marks.analysis
        else:
            scores[speaker.name] = {one: mark.score for one, mark in values.items()}
            analyses[speaker.name] = {one: mark.analysis for one, mark in values.items()}
            totals[speaker.name] = marks.total_score
    details: dict[str, Any] = {"analysis": analyses}
    if totals:
        names = {speaker.label: speaker.name for speaker in unit.speakers}
        details |= {
            "model_totals": totals,
            "model_winner": names[parts_of_answer["winner"]],
            "reason": parts_of_answer["reason"],
        }
    return UnitScores(unit, scores, details)
