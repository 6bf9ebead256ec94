"""A user's labelled debates, turn by turn, for whoever learns from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from touche_rad import files
from touche_rad.debate import Debate, Maxim
from touche_rad.errors import UserError


@dataclass(frozen=True)
class Labelled:
    """A debate up to a judged response, and what people said of it."""

    debate: int
    view: Debate
    labels: Mapping[Maxim, int | None]


def labelled(debates: Path, labels: Path) -> list[Labelled]:
    """Put debates and labels together, line by line; as many turns are answered as labelled."""
    views = list(files.read_views(debates))
    rows = list(files.read_labels(labels))
    if len(views) != len(rows):
        raise UserError(f"{labels}: {len(rows)} debates, and {debates} has {len(views)}")
    return list(_together(debates, labels, views, rows))


def _together(debates: Path, labels: Path, views: list, rows: list) -> Iterator[Labelled]:  # type: ignore[type-arg]
    for number, ((_, of_debate), of_labels) in enumerate(zip(views, rows, strict=True)):
        if len(of_debate) != len(of_labels):
            raise UserError(
                f"{labels}:{number + 1}: {len(of_labels)} turns, and the debate in {debates} has "
                f"{len(of_debate)}"
            )
        for view, given in zip(of_debate, of_labels, strict=True):
            yield Labelled(number, view, given)
