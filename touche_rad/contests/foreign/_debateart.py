"""Debates of DebateArt, a part of PanelBench: speeches by side, and votes on several criteria.

A record of DebateArt has `title`, `description`, the names `pro` and `con`, `arguments` (speeches
or rounds of them) with `side` and `text`, and `votes`: for each criterion `arguments`, `sources`,
`legibility`, `conduct` and `winner` a side, `tie` or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, PlainValidator, TypeAdapter

from touche_rad.contest import TIE, Contest, Side
from touche_rad.files.models import FileRecord, OptionalText, validate
from touche_rad.files.records import FieldError, short_repr

_RESULTS: Final = ("pro", TIE, "con")

_LowerCase = BeforeValidator(lambda value: str(value or "").strip().lower())
_VotedSide = Annotated[Literal["pro", "con", "tie", ""], _LowerCase]


class _Speech(FileRecord):
    side: Annotated[Side, _LowerCase]
    text: str


class _Vote(FileRecord):
    arguments: _VotedSide = ""
    sources: _VotedSide = ""
    legibility: _VotedSide = ""
    conduct: _VotedSide = ""
    winner: _VotedSide = ""


_ROUND: Final = TypeAdapter(list[_Speech])


def _round(value: object) -> list[_Speech]:
    """Read a round, or a speech alone."""
    is_round = isinstance(value, list)
    return _ROUND.validate_python(value) if is_round else [_Speech.model_validate(value)]


class _Debate(FileRecord):
    id: object = None
    title: OptionalText = ""
    description: OptionalText = ""
    pro: OptionalText = ""
    con: OptionalText = ""
    arguments: list[Annotated[list[_Speech], PlainValidator(_round)]]
    votes: Annotated[tuple[_Vote, ...], BeforeValidator(lambda value: value or ())] = ()


def is_debate(record: object) -> bool:
    """Whether a record has the format of the site."""
    return isinstance(record, dict) and isinstance(record.get("arguments"), list)


def contest_of(record: dict[str, Any], name: str) -> Contest:
    """Convert a record to a contest; `name` is its id if it has none."""
    debate = validate(_Debate, record)
    speakers = {"pro": debate.pro or "pro", "con": debate.con or "con"}
    if speakers["pro"] == speakers["con"]:
        raise FieldError(
            "con", f"expected another name than that of pro, {short_repr(speakers['con'])}"
        )
    speeches = [
        {"speaker": speakers[speech.side], "text": speech.text}
        for round_speeches in debate.arguments
        for speech in round_speeches
    ]
    votes = []
    all_points: list[str] = []
    for vote in debate.votes:
        # The points of the site: 3 for arguments, 2 for sources, 1 each for language and conduct.
        points = [vote.arguments] * 3 + [vote.sources] * 2 + [vote.legibility, vote.conduct]
        all_points += points
        votes.append(
            {
                "general": vote.winner or winner(points),  # without a winner, the points decide
                "argument": vote.arguments,
                "source": vote.sources,
                "language": winner([vote.legibility, vote.conduct]),
            }
        )

    # The winner of each dimension by name, and the number of votes for each.
    names = {TIE: TIE, **speakers}
    gold: dict[str, Any] = {}
    counts: dict[str, dict[str, int]] = {}
    for dimension in ("general", "argument", "source", "language"):
        sides = [vote[dimension] for vote in votes]
        if any(sides):
            # As in the paper, the weighted mean of all votes decides the debate.
            of_points = winner(all_points) if dimension == "general" else ""
            gold[dimension] = names[of_points or winner(sides)]
            counts[dimension] = {
                names[side]: sides.count(side) for side in _RESULTS if side in sides
            }
    if counts:
        gold["votes"] = counts
    return validate(
        Contest,
        {
            "id": str(debate.id or name),
            "motion": debate.title or name,
            "info": debate.description,
            "sides": {speakers["pro"]: "pro", speakers["con"]: "con"},
            "speeches": speeches,
            "gold": gold,
        },
    )


def winner(votes: Sequence[str]) -> str:
    """Return the side with most votes, or a tie; nothing without votes."""
    if not any(votes):
        return ""
    lead = votes.count("con") - votes.count("pro")
    if not lead:
        return TIE
    return "con" if lead > 0 else "pro"
