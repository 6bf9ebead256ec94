"""The files that a page is made of: recognised, checked, and read turn by turn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from touche_rad import files
from touche_rad.debate import Debate, Verdicts
from touche_rad.errors import UserError
from touche_rad.files import BadLines, Kind, Labels
from touche_rad.score.naming import names

SHOWN = files.DEBATES | {Kind.RUN}
"""The kinds that a page can be made of."""


@dataclass(frozen=True)
class Source:
    """A file that the page was made of."""

    name: str
    path: Path
    kind: Kind
    sha256: str

    @property
    def file(self) -> str:
        """The file's name; the folders are this machine's own business."""
        return self.path.name


@dataclass(frozen=True)
class Heard:
    """A debate of a run, and by turn: its verdicts, its labels, and what the user replied to."""

    run: str
    debate: Debate
    verdicts: Mapping[int, Verdicts] = field(default_factory=dict)
    labels: Mapping[int, Labels] = field(default_factory=dict)
    replied_to: Mapping[int, str] = field(default_factory=dict)


def sources_of(runs: Sequence[Path]) -> list[Source]:
    """Recognise the runs; a file that no page can be made of is a mistake."""
    return [_source(name, path, SHOWN) for name, path in zip(names(runs), runs, strict=True)]


def truth_of(path: Path) -> Source:
    """Recognise the hand labels or qrels."""
    return _source("labels", path, frozenset({Kind.LABELS, Kind.QRELS}))


def _source(name: str, path: Path, fitting: frozenset[Kind]) -> Source:
    kind = files.recognise(path)
    if kind not in fitting:
        wanted = ", ".join(sorted(one.value for one in fitting))
        raise UserError(f"{path} holds {kind.value}: expected {wanted}")
    with path.open("rb") as file:
        return Source(name, path, kind, hashlib.file_digest(file, "sha256").hexdigest())


def read_all(sources: Sequence[Source], truth: Source | None, bad: BadLines) -> Iterator[Heard]:
    """Read every debate of every run.

    Labels belong to what was judged: to evaluations where there are any, else to every debate.
    """
    labels: list[tuple[Labels, ...]] = []
    if truth is not None and truth.kind is Kind.LABELS:
        labels = list(files.read_labels(truth.path))
    judged = any(source.kind is Kind.EVALUATIONS for source in sources)
    for source in sources:
        known = labels if source.kind is Kind.EVALUATIONS or not judged else []
        yield from _labelled(source, known, bad)


def _labelled(source: Source, labels: Sequence[Sequence[Labels]], bad: BadLines) -> Iterator[Heard]:
    before = bad.count
    for read, (debate, verdicts, replied_to) in enumerate(_read(source, bad)):
        place = read + bad.count - before  # a line that was skipped keeps its place
        given = labels[place] if place < len(labels) else ()
        yield Heard(
            run=source.name,
            debate=debate,
            verdicts=_by_turn(debate, verdicts),
            labels=_by_turn(debate, given),
            replied_to=replied_to,
        )


_Given = TypeVar("_Given")
_Read = tuple[Debate, Sequence[Verdicts], Mapping[int, str]]


def _read(source: Source, bad: BadLines) -> Iterator[_Read]:
    if source.kind is Kind.EVALUATIONS:
        for evaluation in files.read_evaluations(source.path, bad):
            yield evaluation.debate, evaluation.turns, {}
    elif source.kind is Kind.RESPONSES:
        for debate, views in files.read_views(source.path, bad):
            yield debate, (), _replied_to(debate, views)
    elif source.kind in files.DEBATES:
        for debate in files.read_debates(source.path, bad):
            yield debate, (), {}


def _by_turn(debate: Debate, given: Sequence[_Given]) -> dict[int, _Given]:
    """Lay verdicts or labels beside turns; the official client leaves unanswered ones out."""
    answered = [place for place, turn in enumerate(debate.turns) if turn.response is not None]
    skipped = len(given) == len(answered) < len(debate.turns)
    return dict(zip(answered if skipped else range(len(given)), given, strict=True))


def _replied_to(debate: Debate, views: Sequence[Debate]) -> dict[int, str]:
    """Tell what the user had just been told, where that is not what the page shows before it.

    Responses answer turns of a finished debate, in which another system spoke.
    """
    found = {}
    shown = ""
    for place, view in enumerate(views):
        before = view.turns[-2].response if len(view.turns) > 1 else None
        if before is not None and before.content != shown:
            found[place] = before.content
        response = debate.turns[place].response
        shown = response.content if response else ""
    return found
