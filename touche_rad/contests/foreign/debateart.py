"""Debates of DebateArt: speeches by sides, and votes on four metrics.

A record holds `title` (or `topic`, `motion`), `description`, the names `pro` and `con`, `arguments`
(or `speeches`, or `rounds` of them) with `side` and `text`, and `votes`: each voter's side, `tie`
or nothing by metric: `arguments`, `sources`, `legibility`, `conduct`, `winner`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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

_WEIGHTS = {"arguments": 3, "sources": 2, "legibility": 1, "conduct": 1}
"""Points of the site's categorical votes."""
_SPEECHES = ("arguments", "speeches", "rounds")
_SIDES: Mapping[str, Side] = {
    "pro": "pro", "con": "con", "for": "pro", "against": "con", "instigator": "pro",
    "contender": "con",
}  # fmt: skip


def is_one(record: Mapping[str, Any]) -> bool:
    """Whether a record has this format."""
    given = [record[name] for name in _SPEECHES if name in record]
    return bool(given) and ("votes" in record or _says_sides(given[0]))


def _says_sides(given: Any) -> bool:
    """Whether these are speeches by sides, which tell a debate without votes from other files."""
    first = given[0] if isinstance(given, list) and given else None
    if isinstance(first, list):
        return _says_sides(first)
    return isinstance(first, dict) and {"side", "text"} <= set(first)


def contest_of(record: Mapping[str, Any], name: str = "") -> Contest:
    """Convert a record to a contest."""
    whole = dict(record)
    motion = next((optional_text(whole, key) for key in ("title", "topic", "motion")
                   if whole.get(key)), name)  # fmt: skip
    speakers = {side: optional_text(whole, side) or side for side in ("pro", "con")}
    if speakers["pro"] == speakers["con"]:
        raise FieldError(
            "con", f"expected another name than that of pro, {short_repr(speakers['con'])}"
        )
    speeches = tuple(
        Speech(
            speaker=speakers[_side(one, place)], text=require_text(one.get("text"), f"{place}.text")
        )
        for one, place in _speeches(whole)
    )
    votes = [
        _vote(require_object(vote, f"votes.{number}"), f"votes.{number}")
        for number, vote in enumerate(require_list(whole.get("votes") or [], "votes"))
    ]
    winners, counts = gold(votes, speakers)
    return Contest(
        id=_id(whole) or name, motion=motion,
        info=optional_text(whole, "description"),
        sides={speakers["pro"]: "pro", speakers["con"]: "con"},
        speeches=speeches, gold={**winners, "votes": counts} if counts else {},
    )  # fmt: skip


def _id(record: Mapping[str, Any]) -> str:
    key = next((key for key in ("id", "url") if record.get(key)), "id")
    found = record.get(key)
    if isinstance(found, dict | list | bool):
        raise FieldError(key, f"expected text or a number, got {short_repr(found)}")
    return str(found or "")


def _speeches(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    key = next(name for name in _SPEECHES if name in record)
    for number, one in enumerate(require_list(record[key], key)):
        place = f"{key}.{number}"
        if isinstance(one, list):
            for inner, speech in enumerate(one):
                yield require_object(speech, f"{place}.{inner}"), f"{place}.{inner}"
        else:
            yield require_object(one, place), place


def _side(speech: Mapping[str, Any], place: str) -> Side:
    said = str(speech.get("side", "")).strip().lower()
    if said not in _SIDES:
        raise FieldError(
            f"{place}.side", f"expected pro or con, got {short_repr(speech.get('side'))}"
        )
    return _SIDES[said]


def _vote(vote: Mapping[str, Any], place: str) -> dict[str, str | None]:
    """One voter's sides by dimension; the winner is by points where it is not told."""
    told = {name: _voted(vote.get(name), f"{place}.{name}") for name in (*_WEIGHTS, "winner")}
    points = {"pro": 0, "con": 0}
    for name, weight in _WEIGHTS.items():
        side = told[name]
        if side in points:
            points[side] += weight
    leads = points["pro"] - points["con"]
    by_points = "pro" if leads > 0 else "con" if leads < 0 else TIE
    any_told = any(told[name] is not None for name in _WEIGHTS)
    return {
        "general": told["winner"] or (by_points if any_told else None),
        "argument": told["arguments"], "source": told["sources"],
        "language": merged(told["legibility"], told["conduct"]),
    }  # fmt: skip


def _voted(value: Any, field: str) -> str | None:
    if value is None or value == "":
        return None
    said = str(value).strip().lower()
    if said in (TIE, "tied", "draw"):
        return TIE
    if said not in _SIDES:
        raise FieldError(field, f"expected pro, con or tie, got {short_repr(value)}")
    return _SIDES[said]
