"""What judges said of answers: the scores of any judge, each with the answer it was given to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from touche_rad import files
from touche_rad.contest import Contest, Outcome
from touche_rad.debate import Debate, Response, Turn
from touche_rad.debaters.inspiredebate.speech import parted
from touche_rad.errors import InputError
from touche_rad.judging import NO_VERDICT
from touche_rad.training.recorded import Reader, first_record, is_contest
from touche_rad.training.samples import Sample, digest, read_records

B = TypeVar("B", bound=BaseModel)
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


def scored(reader: Reader, path: Path, contests: Mapping[str, Contest]) -> Iterator[Scored]:
    """Yield the scored answers of a file of evaluations, or of a panel's outcomes.

    Args:
        reader: How answers are made into samples.
        path: The scores.
        contests: The debates that outcomes are on, by id.
    """
    if "outcome" in first_record(path):
        yield from _of_outcomes(reader, path, contests)
    else:
        yield from _of_evaluations(reader, path)


def contests_of(paths: Sequence[Path]) -> dict[str, Contest]:
    """Read the files of whole debates among some files."""
    found: dict[str, Contest] = {}
    for path in paths:
        if is_contest(first_record(path)):
            for number, record in read_records(path):
                one = _valid(Contest, record, path, number)
                found[one.id] = one
    return found


def _valid(kind: type[B], record: Any, path: Path, line: int) -> B:
    try:
        return kind.model_validate(record)
    except ValidationError as error:
        told = error.errors()[0]
        field = ".".join(map(str, told["loc"]))
        raise InputError(path, told["msg"], line=line, field=field) from None


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


def _of_outcomes(reader: Reader, path: Path, contests: Mapping[str, Contest]) -> Iterator[Scored]:
    """A verdict on a whole debate holds for each speech of a side."""
    for number, record in read_records(path):
        outcome = _valid(Outcome, record.get("outcome"), path, number)
        contest = contests.get(str(record.get("id")))
        if contest is None:
            expected = f"expected the contest {record.get('id')!r}: give the file of contests too"
            raise InputError(path, expected, line=number, field="id")
        if len(contest.speakers) != 2:
            reader.left_out["a debate of more than two"] += 1
            continue
        for speaker in contest.speakers:
            debate = _seen_by(speaker, contest)
            for at in range(len(debate.turns)):
                sample = reader.sample(debate, at, path.name, contest.sides[speaker])
                if sample is not None:
                    yield Scored(
                        sample, dict(outcome.scores.get(speaker, {})), digest([contest.motion]),
                        f"{path.name}#{number}",
                    )  # fmt: skip


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
