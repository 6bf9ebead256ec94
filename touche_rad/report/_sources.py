"""Read the runs of a report: their debates with verdicts, labels, model calls and fallbacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.debate import NOTHING_FOUND, Debate, Verdicts
from touche_rad.files import BadLines, Judgement, Kind, Labels
from touche_rad.files.outputs import read_status, sha256_of
from touche_rad.files.records import read_json
from touche_rad.report._conversations import DebateOfRun
from touche_rad.report.calls import calls
from touche_rad.score.evaluations import digests
from touche_rad.score.naming import each_run, names

_PLACE: Final = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class Source:
    """An input file of the report with its content; TREC runs are only scored."""

    name: str
    path: Path
    kind: Kind
    sha256: str
    debates: Sequence[tuple[Debate, tuple[Verdicts, ...]]] = ()
    contests: Sequence[Contest] = ()
    judgements: Sequence[Judgement] = ()


def read_sources(runs: Sequence[Path], bad: BadLines, refused: dict[str, str]) -> list[Source]:
    """Read the input files; those that cannot be read are added to `refused`."""

    def read(name: str, path: Path) -> Source:
        kind = files.detect_kind(path)
        source = Source(name, path, kind, sha256_of(path))
        if kind is Kind.EVALUATIONS:
            evaluations = files.read_evaluations(path, bad)
            return replace(source, debates=[(one.debate, one.turns) for one in evaluations])
        if kind in files.DEBATES:
            return replace(source, debates=[(one, ()) for one in files.read_debates(path, bad)])
        if kind is Kind.CONTESTS:
            return replace(source, contests=list(files.read_contests(path, bad)))
        if kind is Kind.OUTCOMES:
            return replace(source, judgements=list(files.read_outcomes(path, bad)))
        return source

    return list(each_run(dict(zip(names(runs), runs, strict=True)), read, refused).values())


def debates_of(sources: Sequence[Source], labels: Path | None) -> Iterator[DebateOfRun]:
    """Yield the debates of all runs."""
    labels_by_words = _labels_by_words(sources, labels)
    by_run = _fallback_turns(sources)
    for run, source in enumerate(sources):
        run_calls, places = calls(source.path), by_run[run]
        for number, (debate, verdicts) in enumerate(source.debates):
            fallbacks = places.get(number, set()) | _nothing_found(debate)
            labelled = labels_by_words.get(digests(debate), ())
            yield DebateOfRun(run, debate, verdicts, labelled, run_calls, frozenset(fallbacks))


def _labels_by_words(
    sources: Sequence[Source], labels: Path | None
) -> dict[tuple[str, ...], tuple[Labels, ...]]:
    """Return the labels of each debate by the digests of its turns.

    Labels have no words: a run with a line for each of them says what they belong to. So a run
    that lacks a line shows the labels of its own debates, and not those of their neighbours.
    """
    if labels is None or files.detect_kind(labels) is not Kind.LABELS:
        return {}
    truth = list(files.read_labels(labels))
    for source in sources:
        if len(source.debates) == len(truth):
            debates = [digests(debate) for debate, _ in source.debates]
            return dict(zip(debates, truth, strict=True))
    return {}


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
