"""A contest of two sides as a debate for a debater: the other side is the user.

A debater of the task argues against what a user says. So whoever speaks against the motion is shown
the motion as the user's claim, and whoever speaks for it is shown its contrary. The side that opens
has nobody to answer yet: it is asked to answer an objection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError

from touche_rad.contest import Contest, Speech
from touche_rad.debate import Argument, Debate, Response, Turn
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import NEGATIONS, clean, words
from touche_rad.users.sides import stance

OPENING: Final = "opening"
"""The field of a contest that holds what its first speaker was asked to answer."""

_MODAL = re.compile(r"\b(should|must|can|could|will|would|may|might)( not)?\b", re.IGNORECASE)
_JOINED = re.compile(r"\b(?:and|or|but|if|because|that|which|who)\b|[,;:]", re.IGNORECASE)
_ABSENCE = NEGATIONS - {"not"}
_LOOKED_AT = 20
_SURE = 0.3


def contrary(claim: str) -> str:
    """Return a statement that whoever is against a claim would make.

    A plain claim has its one modal verb negated, or no longer negated. Where more than that would
    have to be understood, the claim is called wrong as it stands.
    """
    stated = clean(claim)
    if not stated:
        return ""
    if stated.endswith("?"):
        return f"{stated} My answer is no."
    modals = list(_MODAL.finditer(stated))
    absent = any(word in _ABSENCE or word.endswith("n't") for word in words(stated))
    if len(modals) != 1 or absent or _JOINED.search(stated[: modals[0].start()]):
        return f"This is wrong: {stated}"
    modal = modals[0]
    return f"{stated[: modal.end(1)]}{'' if modal[2] else ' not'}{stated[modal.end() :]}"


def objection(index: ArgumentIndex | None, claim: str) -> str:
    """Return what the side that opens for a claim is asked to answer.

    It is an argument against the claim, where the index has one on its topic whose own fields say
    so clearly, and the contrary of the claim. A quotation gives a debater that searches something
    to hold on to: a bag of words knows no `not`, and would lead it to the wrong side.
    """
    opposed = contrary(claim)
    if index is None or not clean(claim):
        return opposed
    found: dict[str, Argument] = {}
    topics: dict[str, float] = {}
    for field, query in (("attacks", claim), ("supports", opposed)):
        for rank, hit in enumerate(index.search(field, query, _LOOKED_AT)):
            found[hit.argument.id] = hit.argument
            near = topics.get(hit.argument.topic, 0.0)
            topics[hit.argument.topic] = near + 1 / (rank + 1)
    topic = max(topics, key=lambda one: (topics[one], one), default="")
    weights = {id_: stance(one, claim) for id_, one in found.items() if one.topic == topic}
    against = min(weights, key=lambda id_: (weights[id_], id_), default=None)
    if against is None or weights[against] > -_SURE:
        return opposed
    return f"{clean(found[against].text)} {opposed}"


def claim_against(contest: Contest, speaker: str) -> str:
    """Return the claim that a speaker argues against."""
    return contest.motion if contest.sides[speaker] == "con" else contrary(contest.motion)


def seen_by(contest: Contest, speaker: str) -> Debate:
    """Return the debate as a speaker sees it: where others spoke last, its turn is unanswered."""
    claim = claim_against(contest, speaker)
    told = (contest.model_extra or {}).get(OPENING)
    opening = told if isinstance(told, str) and told else claim
    turns: list[Turn] = []
    heard: list[str] = []
    for speech in contest.speeches:
        if speech.speaker == speaker:
            utterance = " ".join(heard) or (claim if turns else opening)
            turns.append(Turn(utterance=utterance, response=_response(speech)))
            heard = []
        else:
            heard.append(speech.text)
    if heard or not turns:
        turns.append(Turn(utterance=" ".join(heard) or opening))
    return Debate(id=contest.id, claim=claim, description=contest.info, turns=tuple(turns))


def _response(speech: Speech) -> Response:
    return Response(content=speech.text, arguments=tuple(cited_in(speech)))


def cited_in(speech: Speech) -> Sequence[Argument]:
    """Return the arguments that a speech cites; what is none, in a file of others, is left out."""
    given = (speech.model_extra or {}).get("arguments")
    found: list[Argument] = []
    for one in given if isinstance(given, list | tuple) else ():
        try:
            found.append(one if isinstance(one, Argument) else Argument.model_validate(one))
        except ValidationError:
            continue
    return found
