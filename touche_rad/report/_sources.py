"""Read the runs of a report: who made them, their debates with verdicts, labels and fallbacks."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.criteria import Criteria
from touche_rad.debate import NOTHING_FOUND, Debate, Verdicts
from touche_rad.errors import InputError
from touche_rad.files import BadLines, Judgement, Kind, Labels
from touche_rad.files.labels import digests
from touche_rad.files.outputs import STATUS, read_status, sha256_of, total_of
from touche_rad.report._conversations import DebateOfRun
from touche_rad.report.calls import calls
from touche_rad.score import kind_of
from touche_rad.score.evaluations import read_judged
from touche_rad.score.naming import each_run, names
from touche_rad.score.result import BASELINE, MEAN

LOST: Final = (Debate(), ())
"""A lost debate, which keeps its place and is not shown."""
_PLACE: Final = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class RunOrigin:
    """Who made a run, as its status says, and that of the debates that it judges."""

    status: Mapping[str, Any]
    judged: Mapping[str, Any]

    def plugin(self, kind: str) -> str:
        """Return the debater or the judge, with its model; empty if no status names one."""
        for status in (self.status, self.judged):
            identity = status.get("identity") or {}
            if isinstance(name := identity.get(kind), str):
                model = (identity.get("model") or {}).get("name")
                used = status.get("usage") or status.get("resumed")  # a judge may use no model
                return f"{name} with {model}" if model and used else name
        return ""

    @property
    def fallbacks(self) -> str:
        """How many results of each kind are fallbacks, such as "3 of 60 answers"."""
        numbers = Counter[str]()
        for status in (self.judged, self.status):
            for one in status.get("fallbacks") or ():
                total = total_of(one["what"], status.get("counts") or {})
                numbers[f"{total} {one['what']}"] += one["count"]
        return ", ".join(f"{number} of {total}" for total, number in numbers.items())


def origins_of(paths: Sequence[Path]) -> dict[Path, RunOrigin]:
    """Return the origin of each run; statuses lie beside the runs."""
    by_digest = {
        str(status["sha256"]): status
        for folder in dict.fromkeys(path.parent for path in paths)
        for place in sorted(folder.glob(f"*{STATUS}"))
        for status in [read_status(place.with_name(place.name.removesuffix(STATUS)))]
        if status.get("sha256")
    }
    result = {}
    for path in paths:
        status = read_status(path)
        judged = by_digest.get(str((status.get("identity") or {}).get("input")), {})
        result[path] = RunOrigin(status, judged if status.get("verb") == "judge" else {})
    return result


def run_names(paths: Sequence[Path], origins: Mapping[Path, RunOrigin]) -> list[str]:
    """Name each run after its debater or its judge, whichever differs between the runs.

    A run is named after its file if no status says more; equal names follow those of the files.
    """
    made = [(origins[path].plugin("debater"), origins[path].plugin("judge")) for path in paths]
    judged = [pair for pair in made if all(pair)] or made
    differs = [len({*of_kind} - {""}) > 1 for of_kind in zip(*judged, strict=True)]
    known = []
    for debater, judge in made:
        if all(differs) and debater and judge:
            known.append(f"{debater}, judged by {judge}")
        else:
            known.append((differs[0] and debater) or judge or debater)
    named = [
        file
        if name in ("", BASELINE, MEAN)
        else (f"{file} ({name})" if known.count(name) > 1 else name)
        for name, file in zip(known, names(paths), strict=True)
    ]
    return named if len(set(named)) == len(named) else names(paths)


@dataclass(frozen=True)
class Source:
    """An input file of the report with its content."""

    name: str
    path: Path
    kind: Kind
    sha256: str
    origin: RunOrigin
    debates: Sequence[tuple[Debate, tuple[Verdicts, ...]]] = ()
    contests: Sequence[Contest] = ()
    judgements: Sequence[Judgement] = ()


def read_sources(
    runs: Mapping[str, Path],
    criteria: Criteria,
    origins: Mapping[Path, RunOrigin],
    skipped: Mapping[Path, BadLines],
    refused: dict[str, str],
) -> list[Source]:
    """Read the input files by name; those that cannot be read are added to `refused`."""

    def read(name: str, path: Path) -> Source:
        kind, bad = files.detect_kind(path), skipped[path]
        source = Source(name, path, kind, sha256_of(path), origins[path])
        if kind is Kind.EVALUATIONS:
            return replace(source, debates=list(read_judged(path, criteria, bad)))
        if kind in files.DEBATES:
            views = files.read_views(path, bad, keep_lost=True)
            return replace(source, debates=[(debate, ()) for debate, _ in views])
        if kind is Kind.CONTESTS:
            return replace(source, contests=list(files.read_contests(path, bad)))
        if kind is Kind.OUTCOMES:
            return replace(source, judgements=list(files.read_outcomes(path, bad)))
        if kind is not Kind.RUN:
            raise InputError(path, f"expected a run (such as evaluations), got {kind.value}")
        deque(files.read_run(path, bad), maxlen=0)
        return source

    return list(each_run(runs, read, refused).values())


def debates_of(sources: Sequence[Source], labels: Path | None) -> Iterator[DebateOfRun]:
    """Yield the debates of all runs."""
    labels_by_words = _labels_by_words(sources, labels)
    for run, source in enumerate(sources):
        run_calls, places = calls(source.path), _fallback_turns(source.origin)
        for number, (debate, verdicts) in enumerate(source.debates):
            if (debate, verdicts) == LOST:
                continue
            # Also the turns that were answered with the last fallback's fixed sentence.
            fallbacks = places.get(number, set()) | {
                place
                for place, turn in enumerate(debate.turns)
                if turn.response is not None and turn.response.content == NOTHING_FOUND
            }
            labelled = labels_by_words.get(digests(debate), ())
            verdicts = verdicts or ({},) * (source.kind is Kind.EVALUATIONS)
            yield DebateOfRun(run, debate, verdicts, labelled, run_calls, frozenset(fallbacks))


def _labels_by_words(
    sources: Sequence[Source], labels: Path | None
) -> dict[tuple[str, ...], tuple[Labels, ...]]:
    """Return the labels of each debate by the digests of its turns.

    Labels have no words: a run with a line for each of them says what they belong to. So a run
    that lacks a line shows the labels of its own debates, and not those of their neighbours.
    """
    if labels is None or kind_of(labels) is not Kind.LABELS:
        return {}
    truth = list(files.read_labels(labels))
    fitting = [source for source in sources if len(source.debates) == len(truth)]
    best = min(fitting, key=lambda source: source.debates.count(LOST), default=None)
    debates = best.debates if best else ()
    return {digests(debate): of for (debate, _), of in zip(debates, truth, strict=False)}


def _fallback_turns(origin: RunOrigin) -> dict[int, set[int]]:
    """Return the turns that another debater answered, by debate, counted from 0."""
    places: dict[int, set[int]] = {}
    turns = origin.status.get("replaced_turns") or origin.judged.get("replaced_turns")
    for one in turns if isinstance(turns, list) else ():
        if (match := _PLACE.fullmatch(str(one))) is not None:
            places.setdefault(int(match[1]) - 1, set()).add(int(match[2]) - 1)
    return places
