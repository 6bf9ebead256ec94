"""What can be labelled of runs, and what judges said about it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.debate import Debate, Verdicts
from touche_rad.errors import InputError, UserError
from touche_rad.files.criteria import criteria_of
from touche_rad.files.labels import digests
from touche_rad.files.outputs import read_status
from touche_rad.frozen import frozen
from touche_rad.score.evaluations import JudgedLine, read_judged
from touche_rad.score.naming import each_run, named, plugin_of
from touche_rad.score.reference import Reference


class TurnPlace(NamedTuple):
    """A turn of a run, or a whole debate if it is the unit; both numbers count from 0."""

    debate: int
    turn: int


@frozen
class Exchanges:
    """The debates of runs, and the views of what is labelled.

    The debates of one run are in the order of its lines. Those of several runs are in an order
    that does not show the run, and equal ones are there once.
    """

    paths: Sequence[Path]
    criteria: Criteria
    debates: Sequence[Debate]
    views: Mapping[TurnPlace, Debate] = field(repr=False)

    @property
    def is_pooled(self) -> bool:
        """Whether there are several runs, which nobody must recognise."""
        return len(self.paths) > 1

    @cached_property
    def digest(self) -> str:
        """A digest of all texts and the questions; verdicts in the files do not change it."""
        hashed = hashlib.sha256()
        if not self.criteria.official:
            hashed.update(self.criteria.label_tags[0].encode())
        for debate in self.debates:
            name = "" if self.is_pooled else debate.id
            hashed.update("\x1e".join((name, *digests(debate), "\x1d")).encode())
        return hashed.hexdigest()

    @cached_property
    def words(self) -> list[tuple[str, ...]]:
        """The digests of what is labelled, by debate."""
        return [digests(debate, self.criteria.unit) for debate in self.debates]


def read_exchanges(paths: Sequence[Path], criteria: Criteria) -> Exchanges:
    """Read the debates of runs. A lost debate of one run keeps its place: labels have no ids."""
    rows = []
    for path in paths:
        views_of_run = list(files.read_views(path, keep_lost=True, unit=criteria.unit))
        if not any(views for _, views in views_of_run):
            raise UserError(f"{path} contains nothing to label: expected a {criteria.unit}")
        rows += views_of_run
    if len(paths) > 1:
        # The digests of debates have a random order, which no seed or run decides.
        by_text = {digests(debate): (debate, views) for debate, views in rows if views}
        rows = [by_text[text] for text in sorted(by_text)]
    views: dict[TurnPlace, Debate] = {}
    for number, (_, views_of_debate) in enumerate(rows):
        for view in views_of_debate:
            turn = 0 if criteria.unit == "debate" else len(view.turns) - 1
            views[TurnPlace(number, turn)] = view
    return Exchanges(paths, criteria, [debate for debate, _ in rows], views)


JudgeVerdicts = Mapping[str, Mapping[TurnPlace, Verdicts]]
"""The verdicts of each judge on the turns of the runs."""


def read_verdicts(
    paths: Sequence[Path], exchanges: Exchanges, refused: dict[str, str]
) -> JudgeVerdicts:
    """Read evaluations of the debates, matched by their texts; bad files go to `refused`."""
    criteria = exchanges.criteria
    source = Path(", ".join(map(str, exchanges.paths)))
    # An evaluations file may have further debates.
    reference = Reference(source, exchanges.words, is_pooled=True)

    def read(_: str, path: Path) -> dict[TurnPlace, Verdicts]:
        criteria_of(criteria, path)  # refuses others
        verdicts_by_place: dict[TurnPlace, Verdicts] = {}
        matched: set[int] = set()
        for line, (debate, verdicts) in enumerate(read_judged(path, criteria, files.BadLines()), 1):
            if not verdicts:
                continue
            # A line may have the verdicts only: its debate is that on the same line of the run.
            number = line - 1
            if debate.turns:
                row = JudgedLine(line, id=debate.id, conversation=digests(debate, criteria.unit))
                place = reference.find(path, row, number, matched)
                if place is None:  # a debate that is not to be labelled
                    continue
                number = place
            matched.add(number)
            places = [place for place in exchanges.views if place.debate == number]
            verdicts_by_place |= zip(places, verdicts, strict=False)
        if not verdicts_by_place:
            raise InputError(path, f"has no verdict on the debates of {source}")
        return verdicts_by_place

    runs = named(paths)
    result: dict[str, dict[TurnPlace, Verdicts]] = {}
    for name, verdicts in each_run(runs, read, refused).items():
        judge = plugin_of(read_status(runs[name]), "judge")
        # The name of an evaluations file may be that of its run.
        shown = judge or "a judge"
        if not exchanges.is_pooled:
            shown = name if judge in ("", name) else f"{name}: {judge}"
        result.setdefault(shown, {}).update(verdicts)
    return result
