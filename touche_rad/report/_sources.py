"""Read the runs of a report: their debates with verdicts, labels, model calls and fallbacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from touche_rad import files
from touche_rad.debate import NOTHING_FOUND, Debate, Verdicts
from touche_rad.files import BadLines, Kind, Labels
from touche_rad.files.outputs import read_status, sha256_of
from touche_rad.files.records import read_json
from touche_rad.report._conversations import DebateOfRun
from touche_rad.report.calls import calls
from touche_rad.score.evaluations import digests
from touche_rad.score.naming import names

_PLACE: Final = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class Source:
    """An input file of the report."""

    name: str
    path: Path
    kind: Kind
    sha256: str


def sources_of(runs: Sequence[Path]) -> list[Source]:
    """Name the input files, and detect their kinds."""
    return [
        Source(name, path, files.detect_kind(path), sha256_of(path))
        for name, path in zip(names(runs), runs, strict=True)
    ]


def debates_of(
    sources: Sequence[Source], labels: Path | None, bad: BadLines
) -> Iterator[DebateOfRun]:
    """Yield the debates of all runs."""
    labels_by_words = _labels_by_words(sources, labels, bad)
    by_run = _fallback_turns(sources)
    for run, source in enumerate(sources):
        run_calls, places = calls(source.path), by_run[run]
        for number, (debate, verdicts) in enumerate(_read(source.kind, source.path, bad)):
            fallbacks = places.get(number, set()) | _nothing_found(debate)
            labelled = labels_by_words.get(digests(debate), ())
            yield DebateOfRun(run, debate, verdicts, labelled, run_calls, frozenset(fallbacks))


def _labels_by_words(
    sources: Sequence[Source], labels: Path | None, bad: BadLines
) -> dict[tuple[str, ...], tuple[Labels, ...]]:
    """Return the labels of each debate by the digests of its turns.

    Labels have no words: a run with a line for each of them says what they belong to. So a run
    that lacks a line shows the labels of its own debates, and not those of their neighbours.
    """
    if labels is None or files.detect_kind(labels) is not Kind.LABELS:
        return {}
    truth = list(files.read_labels(labels))
    for source in sources:
        debates = [digests(debate) for debate, _ in _read(source.kind, source.path, bad)]
        if len(debates) == len(truth):
            return dict(zip(debates, truth, strict=True))
    return {}


def _read(kind: Kind, path: Path, bad: BadLines) -> Iterator[tuple[Debate, tuple[Verdicts, ...]]]:
    if kind is Kind.EVALUATIONS:
        for evaluation in files.read_evaluations(path, bad):
            yield evaluation.debate, evaluation.turns
    elif kind in files.DEBATES:
        for debate in files.read_debates(path, bad):
            yield debate, ()


def _nothing_found(debate: Debate) -> set[int]:
    """Return the turns that were answered with the last fallback's fixed sentence."""
    return {
        place
        for place, turn in enumerate(debate.turns)
        if turn.response is not None and turn.response.content == NOTHING_FOUND
    }


def _fallback_turns(sources: Sequence[Source]) -> list[Mapping[int, set[int]]]:
    """Return the turns of each run that another debater answered, by debate, counted from 0.

    The status file of a run says so; evaluations find the status of the run that they judge
    beside them, by the digest of their input.
    """
    by_digest = {
        str(status["sha256"]): status
        for folder in dict.fromkeys(source.path.parent for source in sources)
        for path in sorted(folder.glob("*.status.json"))
        for status in [_load(path)]
        if status.get("replaced_turns") and status.get("sha256")
    }
    result: list[Mapping[int, set[int]]] = []
    for source in sources:
        status: Mapping[str, object] | None = by_digest.get(source.sha256)
        if status is None and source.kind is Kind.EVALUATIONS:
            identity = read_status(source.path).get("identity")
            digest = identity.get("input") if isinstance(identity, dict) else None
            status = by_digest.get(str(digest))
        result.append(_places((status or {}).get("replaced_turns")))
    return result


def _places(turns: object) -> dict[int, set[int]]:
    places: dict[int, set[int]] = {}
    for one in turns if isinstance(turns, list) else ():
        if (match := _PLACE.fullmatch(str(one))) is not None:
            places.setdefault(int(match[1]) - 1, set()).add(int(match[2]) - 1)
    return places


def _load(path: Path) -> Mapping[str, object]:
    try:
        status = read_json(path)
    except (OSError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}
