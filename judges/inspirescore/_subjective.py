"""The four judged dimensions: all sides of a round, or of the whole debate, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal

from judges.inspirescore._options import InspireScoreOptions
from judges.inspirescore._responses import LabelledSpeaker, RoundResponse
from judges.inspirescore._schemas import (
    AnalysedMarks,
    Marks,
    ask_with_room,
    form,
    object_schema,
    part_size,
)
from judges.inspirescore.aggregation import SUBJECTIVE
from touche_rad.frozen import frozen
from touche_rad.lists import unique
from touche_rad.models import Model, ask_in_parts
from touche_rad.models.output import Page

TOKENS_PER_MARKS: Final = 160
"""Token limit of an answer for the scores of a side in a round."""
TOKENS_PER_ANALYSES: Final = 400
TOKENS_PER_REASON: Final = 640


@frozen
class Unit:
    """What is scored at once: a round or the whole debate."""

    key: str
    name: str
    responses: Sequence[RoundResponse]

    @property
    def speakers(self) -> list[LabelledSpeaker]:
        """The speakers who say something in it."""
        return unique(response.speaker for response in self.responses)


@frozen
class UnitScores:
    """The model's scores of a unit."""

    unit: Unit
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By speaker and dimension."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """The analyses; with the setting `detailed` also the model's totals, winner and reason."""
    fault: str = ""


def units_of(responses: Sequence[RoundResponse], scope: Literal["round", "debate"]) -> list[Unit]:
    """Return the units to score; `responses` has no empty ones."""
    if scope == "debate":
        return [Unit("debate", "The whole debate", responses)] if responses else []
    units = []
    for number in sorted({response.round for response in responses}):
        of_round = [response for response in responses if response.round == number]
        units.append(Unit(f"round_{number}", f"Round {number}", of_round))
    return units


async def score_units(
    model: Model, motion: str, info: str, units: Sequence[Unit], options: InspireScoreOptions
) -> list[UnitScores]:
    """Score the units, several in a call."""
    detailed = options.detailed
    most_speakers = max((len(unit.speakers) for unit in units), default=1)
    texts = []
    for unit in units:
        texts.append("\n".join(response.shown for response in unit.responses))
    size = part_size(texts, max(1, options.batch // most_speakers), options.characters_per_call)

    async def ask(batch: Sequence[Unit]) -> list[UnitScores]:
        schemas = {}
        for unit in batch:
            marks = AnalysedMarks if detailed else Marks
            fields: dict[str, Any] = {speaker.key: marks for speaker in unit.speakers}
            if detailed:
                labels = tuple(speaker.label for speaker in unit.speakers)
                fields |= {"winner": Literal[labels], "reason": Page}
            schemas[unit.key] = object_schema(f"Scores_{unit.key}", fields)
        schema = object_schema("Subjective", schemas)
        speakers = [speaker for unit in batch for speaker in unit.speakers]
        limit = len(speakers) * TOKENS_PER_MARKS
        if detailed:
            limit = len(speakers) * TOKENS_PER_ANALYSES + len(batch) * TOKENS_PER_REASON
        answer = await ask_with_room(
            model,
            "subjective",
            schema,
            limit,
            alone=len(batch) == 1,
            motion=motion,
            info=info,
            units=batch,
            detailed=detailed,
            speakers=unique(speakers),
            form=form(schema),
        )
        answers = dict(answer)
        return [_unit_scores(unit, dict(answers[unit.key])) for unit in batch]

    return await ask_in_parts(units, size, ask, lambda unit, why: UnitScores(unit, fault=why))


def _unit_scores(unit: Unit, answer: Mapping[str, Any]) -> UnitScores:
    """Return the scores and analyses in the answer on a unit, which has a key for each speaker."""
    scores: dict[str, dict[str, float]] = {}
    analyses: dict[str, Any] = {}
    totals: dict[str, float] = {}
    for speaker in unit.speakers:
        marks = answer[speaker.key]
        values = dict(marks)
        by_dimension = {dimension: values[dimension] for dimension in SUBJECTIVE}
        if isinstance(marks, Marks):
            scores[speaker.name] = by_dimension
            analyses[speaker.name] = marks.analysis
        else:
            scores[speaker.name] = {name: mark.score for name, mark in by_dimension.items()}
            analyses[speaker.name] = {name: mark.analysis for name, mark in by_dimension.items()}
            totals[speaker.name] = marks.total_score
    details: dict[str, Any] = {"analysis": analyses}
    if totals:
        names = {speaker.label: speaker.name for speaker in unit.speakers}
        details |= {
            "model_totals": totals,
            "model_winner": names[answer["winner"]],
            "reason": answer["reason"],
        }
    return UnitScores(unit, scores, details)
