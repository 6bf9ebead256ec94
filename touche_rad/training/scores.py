"""What judges said of answers: the scores of any judge, each with the answer it was given to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from touche_rad import files
from touche_rad.errors import InputError
from touche_rad.judging import NO_VERDICT
from touche_rad.training.recorded import Reader
from touche_rad.training.samples import Sample, digest
from touche_rad.training.sides import Played, of_contest, of_task

Scores = Mapping[str, float | None]


@dataclass(frozen=True)
class Scored:
    """An answer and its scores by dimension; what could not be had is None."""

    sample: Sample
    scores: Scores
    motion: str
    """A digest of what the debate is about."""
    contest: str
    """Which playing of the debate it is from."""


def scored(reader: Reader, paths: Sequence[Path]) -> Iterator[Scored]:
    """Yield the scored answers of files of evaluations and of panels' outcomes.

    Outcomes name debates by their ids, which other playings share: they are sought in the file of
    debates or contests that was given last before them.
    """
    played: Mapping[str, Played] = {}
    for path in paths:
        kind = files.recognise(path)
        if kind is files.Kind.EVALUATIONS:
            yield from _of_evaluations(reader, path)
        elif kind is files.Kind.OUTCOMES:
            yield from _of_outcomes(reader, path, played)
        elif kind is files.Kind.CONTESTS:
            played = {one.id: of_contest(one) for one in files.read_contests(path)}
        elif kind in files.DEBATES:
            played = {one.id: of_task(one, views) for one, views in files.read_views(path)}
        else:
            raise InputError(path, f"expected evaluations, outcomes or debates, got {kind}")


def _of_evaluations(reader: Reader, path: Path) -> Iterator[Scored]:
    """Each turn has its own verdicts, a dimension for each maxim."""
    for number, one in enumerate(files.read_evaluations(path)):
        debate = one.debate
        answered = [at for at, turn in enumerate(debate.turns) if turn.response is not None]
        motion = digest([debate.claim or (debate.turns[0].utterance if debate.turns else "")])
        for at, verdicts in zip(answered, one.turns, strict=False):
            sample = reader.sample(debate, at, path.name)
            if sample is not None:
                scores = {
                    maxim.value: None if given.rationale.startswith(NO_VERDICT) else given.score
                    for maxim, given in verdicts.items()
                }
                yield Scored(sample, scores, motion, f"{path.name}#{number}")


def _of_outcomes(reader: Reader, path: Path, played: Mapping[str, Played]) -> Iterator[Scored]:
    """A verdict on a whole debate holds for each answer of a side."""
    for number, judged in enumerate(files.read_outcomes(path), 1):
        debate = played.get(judged.id)
        if debate is None:
            expected = f"expected the debate {judged.id!r} in a file that is given before this one"
            raise InputError(path, expected, line=number, field="id")
        if not debate.parts:
            reader.left_out["a debate of more than two"] += 1
        for part in debate.parts:
            scores = dict(judged.outcome.scores.get(part.speaker, {}))
            for sample in reader.samples(part, debate.motion, path.name):
                yield Scored(sample, scores, digest([debate.motion]), f"{path.name}#{number}")
