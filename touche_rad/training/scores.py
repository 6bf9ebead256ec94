"""What judges said of answers: the scores of any judge, each with the answer it was given to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.contest import SYSTEM, Contest, Side, contest_of
from touche_rad.debate import Debate, Response, Turn
from touche_rad.debaters.inspiredebate.speech import parted
from touche_rad.errors import InputError
from touche_rad.judging import NO_VERDICT
from touche_rad.training.recorded import Reader
from touche_rad.training.samples import Sample, digest

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


@dataclass(frozen=True)
class Played:
    """A debate that was played: each side's answers, as they were asked for."""

    motion: str
    parts: tuple[tuple[str, Side, tuple[Debate, ...]], ...]
    """A speaker, its side, and the debate up to each of its answers."""


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
            played = {one.id: _played(one) for one in files.read_contests(path)}
        elif kind in files.DEBATES:
            played = {one.id: _task(one, views) for one, views in files.read_views(path)}
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
        for speaker, side, views in debate.parts:
            for view in views:
                sample = reader.sample(view, len(view.turns) - 1, path.name, side)
                if sample is not None:
                    scores = dict(judged.outcome.scores.get(speaker, {}))
                    yield Scored(sample, scores, digest([debate.motion]), f"{path.name}#{number}")


def _task(debate: Debate, views: Sequence[Debate]) -> Played:
    """Return a debate of the shared task: the system is learnt from, and its user is not."""
    return Played(contest_of(debate).motion, ((SYSTEM, "con", tuple(views)),))


def _played(contest: Contest) -> Played:
    """Return a contest of two; of more, no answer is one to the other side alone."""
    if len(contest.speakers) != 2:
        return Played(contest.motion, ())
    parts = []
    for speaker in contest.speakers:
        whole = _seen_by(speaker, contest)
        views = tuple(whole.view(at) for at in range(len(whole.turns)))
        parts.append((speaker, contest.sides[speaker], views))
    return Played(contest.motion, tuple(parts))


def _seen_by(speaker: str, contest: Contest) -> Debate:
    """Return a contest as one speaker answers it; who opens is given the motion."""
    turns: list[Turn] = []
    heard: list[str] = []
    for speech in contest.speeches:
        if speech.speaker != speaker:
            heard.append(parted(speech.text)[1])
            continue
        said = Response(content=speech.text, **_extras(speech.model_extra))
        turns.append(Turn(utterance="\n".join(heard) or contest.motion, response=said))
        heard = []
    return Debate(id=contest.id, claim=contest.motion, turns=tuple(turns))


def _extras(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a speech says besides that a response has too."""
    return {key: value for key, value in (given or {}).items() if key == "reasoning"}
