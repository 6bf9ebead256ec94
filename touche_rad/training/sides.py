"""Debates as each side answered them: what a side had heard, and what it said to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from touche_rad.contest import SYSTEM, Contest, Side, contest_of
from touche_rad.debate import Debate, Response, Turn
from touche_rad.debaters.inspiredebate.speech import parted
from touche_rad.facing import OPENING, cited_in, seen_by


@dataclass(frozen=True)
class Part:
    """One speaker's part of a debate."""

    speaker: str
    side: Side
    asked: Side
    """The side that the speaker's prompt names; in our own debates all argue against a claim."""
    views: tuple[Debate, ...]
    """The debate up to each of its answers."""


@dataclass(frozen=True)
class Played:
    """A debate that was played: each side's answers, as they were asked for."""

    motion: str
    parts: tuple[Part, ...]


def of_task(debate: Debate, views: Sequence[Debate]) -> Played:
    """Return a debate of the shared task: the system is learnt from, and its user is not."""
    return Played(contest_of(debate).motion, (Part(SYSTEM, "con", "con", tuple(views)),))


def of_contest(contest: Contest) -> Played:
    """Return a contest of two; of more, no answer is one to the other side alone."""
    if len(contest.speakers) != 2:
        return Played(contest.motion, ())
    ours = OPENING in (contest.model_extra or {})
    parts = []
    for speaker in contest.speakers:
        side = contest.sides[speaker]
        whole = seen_by(contest, speaker) if ours else _answered_by(speaker, contest)
        views = (whole.view(at) for at, turn in enumerate(whole.turns) if turn.response is not None)
        parts.append(Part(speaker, side, "con" if ours else side, tuple(views)))
    return Played(contest.motion, tuple(parts))


def _answered_by(speaker: str, contest: Contest) -> Debate:
    """Return a contest as one speaker answers it; who opens is given the motion."""
    turns: list[Turn] = []
    heard: list[str] = []
    for speech in contest.speeches:
        if speech.speaker != speaker:
            heard.append(parted(speech.text)[1])
            continue
        said = Response(
            content=speech.text, arguments=tuple(cited_in(speech)), **_extras(speech.model_extra)
        )
        turns.append(Turn(utterance="\n".join(heard) or contest.motion, response=said))
        heard = []
    return Debate(id=contest.id, claim=contest.motion, turns=tuple(turns))


def _extras(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a speech says besides that a response has too."""
    return {key: value for key, value in (given or {}).items() if key == "reasoning"}
