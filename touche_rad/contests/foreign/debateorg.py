"""Debates of Debate.org: one object of all debates by name, with rounds by sides, and votes.

A debate holds `participant_1_name` and `_position`, `participant_2_...`, `title`, `rounds` (lists
of `side` and `text`) and `votes`, each with a `votes_map`: for each participant, and for `Tied`,
the ticked criteria.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from touche_rad.contest import TIE, Contest, Side, Speech
from touche_rad.contests.foreign.votes import gold, merged
from touche_rad.files.records import (
    FieldError,
    optional_text,
    require_list,
    require_object,
    require_text,
    short_repr,
)

_ARGUMENTS: Final = "Made more convincing arguments"
_SOURCES: Final = "Used the most reliable sources"
_CONDUCT: Final = "Made better conduct"
_SPELLING: Final = "Had better spelling and grammar"
_POINTS: Final = {_ARGUMENTS: 3, _SOURCES: 2, _CONDUCT: 1, _SPELLING: 1}
_LOOSE: Final = {"".join(filter(str.isalpha, name)).lower(): name for name in _POINTS} | {
    "hadbetterconduct": _CONDUCT
}


def is_one(record: Mapping[str, Any]) -> bool:
    """Whether a record has this format."""
    return "participant_1_position" in record and "rounds" in record


def contest_of(record: Mapping[str, Any], name: str = "") -> Contest:
    """Convert a record to a contest."""
    whole = dict(record)
    sides: dict[str, Side] = {}
    for number in (1, 2):
        who = optional_text(whole, f"participant_{number}_name") or f"participant {number}"
        sides[who] = _position(whole, f"participant_{number}_position")
    if sorted(sides.values()) != ["con", "pro"]:
        raise FieldError(
            "participant_2_position", "expected one Pro and one Con with names of their own"
        )
    speaker: dict[str, str] = {side: who for who, side in sides.items()}
    speeches = []
    for number, given in enumerate(require_list(whole["rounds"], "rounds")):
        for inner, one in enumerate(require_list(given, f"rounds.{number}")):
            place = f"rounds.{number}.{inner}"
            speech = require_object(one, place)
            side = _position(speech, "side", place)
            text = require_text(speech.get("text"), f"{place}.text")
            speeches.append(Speech(speaker=speaker[side], text=text))
    votes = [
        _vote(require_object(vote, f"votes.{number}"), sides, f"votes.{number}")
        for number, vote in enumerate(require_list(whole.get("votes") or [], "votes"))
    ]
    winners, counts = gold(votes, speaker)
    return Contest(
        id=name or str(whole.get("url", "")), motion=optional_text(whole, "title") or name,
        sides={speaker["pro"]: "pro", speaker["con"]: "con"}, speeches=tuple(speeches),
        gold={**winners, "votes": counts} if counts else {},
    )  # fmt: skip


def _position(record: Mapping[str, Any], key: str, place: str = "") -> Side:
    said = str(record.get(key, "")).strip().lower()
    if said == "pro":
        return "pro"
    if said == "con":
        return "con"
    field = f"{place}.{key}" if place else key
    raise FieldError(field, f"expected Pro or Con, got {short_repr(record.get(key))}")


def _vote(vote: dict[str, Any], sides: Mapping[str, Side], place: str) -> dict[str, str | None]:
    ticked = require_object(vote.get("votes_map", {}), f"{place}.votes_map")
    ticks: dict[str, str] = {}
    points = {"pro": 0, "con": 0}
    for who, what in ticked.items():
        side = TIE if who == "Tied" else sides.get(who)
        for said, yes in require_object(what, f"{place}.votes_map.{who}").items():
            metric = _LOOSE.get("".join(filter(str.isalpha, said)).lower())
            if yes is not True or metric is None or side is None:
                continue
            ticks[metric] = side
            if side in points:
                points[side] += _POINTS[metric]
    leads = points["pro"] - points["con"]
    by_points = "pro" if leads > 0 else "con" if leads < 0 else TIE
    return {
        "general": by_points if ticks else None, "argument": ticks.get(_ARGUMENTS),
        "source": ticks.get(_SOURCES),
        "language": merged(ticks.get(_CONDUCT), ticks.get(_SPELLING)),
    }  # fmt: skip
