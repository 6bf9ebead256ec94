"""The turns of a run that can be labelled, and what judges said about them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.debate import Debate, Verdicts
from touche_rad.errors import InputError, UserError
from touche_rad.files.labels import digests
from touche_rad.files.outputs import read_status
from touche_rad.score.evaluations import JudgedLine, read_judged
from touche_rad.score.naming import each_run, names, plugin_of
from touche_rad.score.reference import Reference


class TurnPlace(NamedTuple):
    """A turn of a run; both numbers count from 0."""

    debate: int
    turn: int


@dataclass(frozen=True)
class Exchanges:
    """The debates of a run, in the order of its lines, and the views of their answered turns."""

    path: Path
    debates: Sequence[Debate]
    views: Mapping[TurnPlace, Debate] = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """A digest of all texts; verdicts in the file do not change it."""
        hashed = hashlib.sha256()
        for debate in self.debates:
            hashed.update("\x1e".join((debate.id, *digests(debate), "\x1d")).encode())
        return hashed.hexdigest()

    @cached_property
    def shape(self) -> list[int]:
        """The number of turns of each debate."""
        return [len(debate.turns) for debate in self.debates]


def read_exchanges(path: Path) -> Exchanges:
    """Read the debates of a run. A lost debate keeps its place, because labels have no ids."""
    debates: list[Debate] = []
    views: dict[TurnPlace, Debate] = {}
    for number, (debate, of_debate) in enumerate(files.read_views(path, keep_lost=True)):
        debates.append(debate)
        for view in of_debate:
            views[TurnPlace(number, len(view.turns) - 1)] = view
    if not views:
        raise UserError(f"{path} contains no response to label")
    return Exchanges(path, debates, views)


JudgeVerdicts = Mapping[str, Mapping[TurnPlace, Verdicts]]
"""The verdicts of each judge on the turns of a run."""


def read_verdicts(
    paths: Sequence[Path], exchanges: Exchanges, criteria: Criteria, refused: dict[str, str]
) -> JudgeVerdicts:
    """Read evaluations of a run's debates, matched by id and text; bad files go to `refused`."""
    debates = exchanges.debates
    reference = Reference.of_debates(exchanges.path, debates)

    def read(_: str, path: Path) -> dict[TurnPlace, Verdicts]:
        if files.detect_kind(path) is not files.Kind.EVALUATIONS:
            raise InputError(path, "expected evaluations: run `touche-rad judge` first")
        verdicts_by_place: dict[TurnPlace, Verdicts] = {}
        matched: set[int] = set()
        for line, (debate, verdicts) in enumerate(read_judged(path, criteria, files.BadLines()), 1):
            if not verdicts:
                continue
            # A line may have the verdicts only: its debate is that on the same line of the run.
            number = line - 1
            if debate.turns:
                row = JudgedLine(line, id=debate.id, conversation=digests(debate))
                number = reference.find(path, row, number, matched)
            elif number < len(debates):
                debate = debates[number]
            matched.add(number)
            answered = [at for at, turn in enumerate(debate.turns) if turn.response]
            places = [TurnPlace(number, at) for at in answered]
            verdicts_by_place |= zip(places, verdicts, strict=False)
        return verdicts_by_place

    runs = {}
    for name, path in zip(names(paths), paths, strict=True):
        judge = plugin_of(read_status(path), "judge")
        runs[f"{name}: {judge}" if judge else name] = path
    return each_run(runs, read, refused)
