"""Debates of DebateArt, a part of PanelBench: speeches by side, and votes on several criteria.

A record of DebateArt has `title`, `description`, the names `pro` and `con`, `arguments` (speeches
or rounds of them) with `side` and `text`, and `votes`: for each criterion `arguments`, `sources`,
`legibility`, `conduct` and `winner` a side, `tie` or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from touche_rad.contest import TIE, Contest, Side
from touche_rad.files.models import validate
from touche_rad.files.records import (
    FieldError,
    optional_text,
    require_list,
    require_object,
    require_text,
    short_repr,
)

_SIDES: Final[Mapping[str, Side]] = {"pro": "pro", "con": "con"}
_POINTS: Final = {"arguments": 3, "sources": 2, "legibility": 1, "conduct": 1}
"""The points of a voter by criterion."""
_VALUES: Final[Mapping[str, float]] = {"pro": 0.0, TIE: 0.5, "con": 1.0}

Vote = Mapping[str, str | None]
"""A voter's side by criterion or dimension: pro, con, tie or None."""


def is_debate(record: Any) -> bool:
    """Whether a record has the format of the site."""
    return isinstance(record, dict) and isinstance(record.get("arguments"), list)


def contest_of(record: dict[str, Any], name: str = "") -> Contest:
    """Convert a record to a contest; `name` is its id if it has none."""
    speakers = _speakers(record)
    speeches = tuple(
        {
            "speaker": speakers[_side(speech, place)],
            "text": require_text(speech.get("text"), f"{place}.text"),
        }
        for place, speech in _speeches(record)
    )
    votes = [
        _by_dimension(_vote(require_object(vote, f"votes.{number}"), f"votes.{number}"))
        for number, vote in enumerate(require_list(record.get("votes") or [], "votes"))
    ]
    return validate(
        Contest,
        {
            "id": str(record.get("id") or name),
            "motion": optional_text(record, "title") or name,
            "info": optional_text(record, "description"),
            "sides": {speakers["pro"]: "pro", speakers["con"]: "con"},
            "speeches": speeches,
            "gold": _gold(votes, speakers),
        },
    )


def _speakers(record: dict[str, Any]) -> dict[Side, str]:
    pro, con = (optional_text(record, side) or side for side in ("pro", "con"))
    if pro == con:
        raise FieldError("con", f"expected another name than that of pro, {short_repr(con)}")
    return {"pro": pro, "con": con}


def _speeches(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each speech with its place; rounds are lists of speeches."""
    for number, one in enumerate(record["arguments"]):
        place = f"arguments.{number}"
        if isinstance(one, list):
            for inner, speech in enumerate(one):
                yield f"{place}.{inner}", require_object(speech, f"{place}.{inner}")
        else:
            yield place, require_object(one, place)


def _side(speech: Mapping[str, Any], place: str) -> Side:
    text = str(speech.get("side", "")).strip().lower()
    if text not in _SIDES:
        expected = f"expected pro or con, got {short_repr(speech.get('side'))}"
        raise FieldError(f"{place}.side", expected)
    return _SIDES[text]


def _vote(vote: Mapping[str, Any], place: str) -> Vote:
    sides: dict[str, str | None] = {}
    for criterion in (*_POINTS, "winner"):
        text = str(vote.get(criterion) or "").strip().lower()
        if text not in ("", TIE, *_SIDES):
            expected = f"expected pro, con or tie, got {short_repr(vote[criterion])}"
            raise FieldError(f"{place}.{criterion}", expected)
        sides[criterion] = _SIDES.get(text, TIE) if text else None
    return sides


def _by_dimension(vote: Vote) -> Vote:
    """Return a voter's side by dimension; without a winner, the points decide."""
    sides = [(vote[name], points) for name, points in _POINTS.items()]
    by_points = [side for side, points in sides for _ in range(points)]
    return {
        "general": vote.get("winner") or winner(by_points),
        "argument": vote.get("arguments"),
        "source": vote.get("sources"),
        "language": winner([vote.get("legibility"), vote.get("conduct")]),
    }


def winner(votes: Sequence[str | None]) -> str | None:
    """Return the side with most votes, or a tie; None without votes."""
    values = [_VALUES[vote] for vote in votes if vote is not None]
    if not values:
        return None
    mean = sum(values) / len(values)
    return TIE if mean == 0.5 else "pro" if mean < 0.5 else "con"


def _gold(votes: Sequence[Vote], speakers: Mapping[Side, str]) -> dict[str, Any]:
    """Return the winner of each dimension by name, and the number of votes for each."""
    names = {TIE: TIE, "pro": speakers["pro"], "con": speakers["con"]}
    gold: dict[str, Any] = {}
    counts: dict[str, dict[str, int]] = {}
    for dimension in votes[0] if votes else ():
        sides = [vote[dimension] for vote in votes]
        won = winner(sides)
        if won is not None:
            gold[dimension] = names[won]
            counts[dimension] = {
                names[side]: sides.count(side) for side in _VALUES if side in sides
            }
    return {**gold, "votes": counts} if counts else {}
