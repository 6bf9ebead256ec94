"""Labelled debates, turn by turn, as training data for judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from touche_rad import files
from touche_rad.debate import Debate, Maxim
from touche_rad.errors import UserError


@dataclass(frozen=True)
class Labelled:
    """A debate up to one response, and the labels of that response."""

    debate: int
    view: Debate
    labels: Mapping[Maxim, int | None]


def labelled(debates: Path, labels: Path) -> list[Labelled]:
    """Pair each response with its labels; both files have the same debates in the same order."""
    views, rows = list(files.read_views(debates)), list(files.read_labels(labels))
    if len(views) != len(rows):
        raise UserError(f"{labels}: {len(rows)} debates, and {debates} has {len(views)}")
    pairs = []
    for number, ((_, of_debate), of_labels) in enumerate(zip(views, rows, strict=True)):
        if len(of_debate) != len(of_labels):
            raise UserError(
                f"{labels}:{number + 1}: {len(of_labels)} turns, and the debate in {debates} has "
                f"{len(of_debate)}"
            )
        pairs += [Labelled(number, *pair) for pair in zip(of_debate, of_labels, strict=True)]
    return pairs
