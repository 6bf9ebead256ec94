"""Leave labelled turns out of a score, such as the examples that a judge's prompts show.

A judge that is scored on its own examples scores too high. `touche-rad train examples` writes the
debate and the turn of each example; a turn is found by them or by its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from touche_rad.errors import InputError, UserError
from touche_rad.files.records import numbered_lines
from touche_rad.score.alignment import Labelled
from touche_rad.score.evaluations import Row, digest
from touche_rad.score.matching import Reference


class _Example(BaseModel):
    """The fields of an example that name its turn; other fields are ignored."""

    debate: str = ""
    turn: int | None = None
    user: str
    system: str


@dataclass(frozen=True)
class Turns:
    """The turns of one labelled debate: the debate's id and a digest of each turn."""

    id: str
    words: Sequence[str]


def known_turns(rows: Sequence[Sequence[Row]], reference: Reference | None) -> list[Turns]:
    """Return the debates at the labels' places: the labelled debates, or those of the runs."""
    if reference is not None:
        return [Turns(*one) for one in zip(reference.ids, reference.turns, strict=True)]
    return [
        next((Turns(row.id, row.conversation) for row in at if row.conversation), Turns("", ()))
        for at in _columns(rows)
    ]


def _columns(rows: Sequence[Sequence[Row]]) -> list[list[Row]]:
    most = max(map(len, rows), default=0)
    return [[run[place] for run in rows if place < len(run)] for place in range(most)]


def exclude(labels: Labelled, turns: Sequence[Turns], path: Path) -> tuple[Labelled, int]:
    """Remove the labels of the turns that are examples in a file; return also how many turns.

    Raises:
        UserError: No example of the file is among the labelled turns.
    """
    examples = [_parsed(path, number, line) for number, line in numbered_lines(path)]
    words = {digest(one.user, one.system) for one in examples}
    places = {(one.debate, one.turn) for one in examples if one.debate and one.turn}
    left, count = [], 0
    for number, of_debate in enumerate(labels):
        known = turns[number] if number < len(turns) else Turns("", ())
        kept = []
        for turn, of_turn in enumerate(of_debate):
            found = (known.id, turn + 1) in places or bool(words & {*known.words[turn : turn + 1]})
            kept.append(dict.fromkeys(of_turn) if found else of_turn)
            count += found
        left.append(kept)
    if not count:
        raise UserError(
            f"--exclude {path}: none of its {len(examples)} examples is among the labelled turns"
        )
    return left, count


def _parsed(path: Path, number: int, line: str) -> _Example:
    try:
        return _Example.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or None
        raise InputError(path, first["msg"], line=number, field=field) from None
