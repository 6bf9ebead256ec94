"""A contest of two sides as the debate that one of its speakers sees; the other side is the user.

There are two views. In the sided view `Debate.motion` is the motion of the contest, and
`Debate.side` is the speaker's side. Most debaters do not read the side: they argue against what a
user says. They get the task view, in which `Debate.motion` is always to be argued against: the
motion for the side against it, and the negated motion for the side for it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pydantic import ValidationError

from touche_rad.contest import Contest, Speech
from touche_rad.debate import Argument, Debate, Response, Turn
from touche_rad.files.models import only_text
from touche_rad.models.prompts import Thesis, is_simple_clause
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, is_negation, words
from touche_rad.users.arguments import stance

OPENING: Final = "opening"
"""The field of a contest with the objection that its first speaker answers in the task view."""
REASONING: Final = "reasoning"
"""The field of a speech or a response with the reasoning behind it."""
SAMPLED: Final = "sampled"
"""The field of a contest that is one of several with other last speeches."""

_MODAL = re.compile(r"(?<!free )\b(?:should|must|can|could|will|would|may|might)\b", re.IGNORECASE)
_HITS = 20
_MIN_STANCE = 0.3


def negate(claim: str) -> str:
    """Return a claim that contradicts a claim.

    If the claim is one simple clause, its negation is removed, or its modal verb is negated.
    Otherwise the claim is called wrong as a whole.
    """
    text = clean(claim)
    if not text:
        return ""
    if text.endswith("?"):
        return f"{text} My answer is no."
    opposite = Thesis(text).opposite
    modal = _MODAL.search(text)
    if modal and is_simple_clause(text) and not any(map(is_negation, words(text))):
        opposite = f"{text[: modal.end()]} not{text[modal.end() :]}"
    return opposite or f"This is wrong: {text}"


def objection(index: ArgumentIndex | None, claim: str) -> str:
    """Return an objection to a claim, for the side that opens for it in the task view.

    It is the negated claim. If the index has an argument on the same topic that clearly opposes the
    claim by its own fields, this argument comes first: a debater that searches by words ignores
    `not`, and would otherwise find arguments for the wrong side.
    """
    negated = negate(claim)
    if index is None or not clean(claim):
        return negated
    arguments: dict[str, Argument] = {}
    topics: defaultdict[str, float] = defaultdict(float)
    for field, query in (("attacks", claim), ("supports", negated)):
        for rank, hit in enumerate(index.search(field, query, _HITS), 1):
            arguments[hit.argument.id] = hit.argument
            topics[hit.argument.topic] += 1 / rank
    topic = max(topics, key=lambda name: (topics[name], name), default="")
    stances = {
        argument_id: stance(argument, claim)
        for argument_id, argument in arguments.items()
        if argument.topic == topic
    }
    against = min(
        stances, key=lambda argument_id: (stances[argument_id], argument_id), default=None
    )
    if against is None or stances[against] > -_MIN_STANCE:
        return negated
    return f"{clean(arguments[against].text)} {negated}"


def sided_view(contest: Contest, speaker: str) -> Debate:
    """Return the debate with the motion and the speaker's side.

    The speaker who opens answers the motion itself.
    """
    return _view(contest, speaker, contest.motion, contest.motion).replace(
        side=contest.sides[speaker]
    )


def speaks_first(debate: Debate) -> bool:
    """Whether the debater of a sided view opened, so that its first turn has only the motion."""
    return debate.side == "pro" and clean(debate.turns[0].utterance) == clean(debate.thesis)


def opens(debate: Debate) -> bool:
    """Whether the debater of a sided view gives the first speech."""
    return len(debate.turns) == 1 and speaks_first(debate)


def task_view(contest: Contest, speaker: str) -> Debate:
    """Return the debate as one of the shared task: the speaker argues against the claim.

    The speaker who opens answers the objection that the contest contains.
    """
    claim = contest.motion if contest.sides[speaker] == "con" else negate(contest.motion)
    return _view(contest, speaker, claim, only_text(contest.rest.get(OPENING)))


def _view(contest: Contest, speaker: str, claim: str, opening: str) -> Debate:
    """Return the debate of a speaker; its last turn has no response if another spoke last."""
    turns: list[Turn] = []
    waiting: list[str] = []
    for speech in contest.speeches:
        if speech.speaker == speaker:
            utterance = " ".join(waiting) or (claim if turns else opening or claim)
            response = Response(
                content=speech.text,
                arguments=tuple(citations(speech)),
                extra={REASONING: speech.rest[REASONING]} if REASONING in speech.rest else {},
            )
            turns.append(Turn(utterance=utterance, response=response))
            waiting = []
        else:
            waiting.append(speech.text)
    if waiting or not turns:
        turns.append(Turn(utterance=" ".join(waiting) or opening or claim))
    return Debate(id=contest.id, motion=claim, turns=tuple(turns))


def citations(speech: Speech) -> Sequence[Argument]:
    """Return the arguments that a speech cites; invalid ones in a file are left out."""
    values = speech.rest.get("arguments")
    arguments: list[Argument] = []
    if isinstance(values, list | tuple):
        for value in values:
            with suppress(ValidationError):
                arguments.append(Argument.model_validate(value))
    return arguments
