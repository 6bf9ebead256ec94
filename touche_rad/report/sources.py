"""Read the runs of a report: who made them, their debates with verdicts, labels and fallbacks."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.criteria import Criteria
from touche_rad.debate import Debate, Verdicts
from touche_rad.errors import InputError
from touche_rad.files import BadLines, Judgement, Kind, Labels
from touche_rad.files.labels import digests
from touche_rad.files.outputs import (
    Result,
    count_replaced,
    known_status,
    sha256_of,
    total_of,
)
from touche_rad.files.simulations import debater_of, fallback_of
from touche_rad.frozen import frozen
from touche_rad.report.calls import calls
from touche_rad.runs.jobs import index_in_words
from touche_rad.score import kind_of
from touche_rad.score.conversations import DebateOfRun
from touche_rad.score.evaluations import read_judged
from touche_rad.score.findings import Validation
from touche_rad.score.naming import each_run, plugin_of
from touche_rad.score.reference import known_reference, read_truth
from touche_rad.score.shares import refuse_without_texts
from touche_rad.score.validation import check
from touche_rad.score.words import names_of


@frozen
class RunOrigin:
    """Who made a run, as its status says, and that of the debates that it judges."""

    status: Mapping[str, Any]
    debater: str = ""
    """The debater that the lines of the run name."""

    @property
    def judged(self) -> Mapping[str, Any]:
        """The status of the debates of a judge's run."""
        return dict(self.status.get("judged", {}))

    def plugin(self, kind: str) -> str:
        """Return the debater or the judge, with its model; empty if nothing names one."""
        plugin = plugin_of(self.status, kind) or plugin_of(self.judged, kind)
        return plugin or (self.debater if kind == "debater" else "")

    @property
    def judge(self) -> str:
        """The judge, with its model and whether it had an index, if it uses any."""
        judge = self.plugin("judge")
        return judge and f"{judge} {index_in_words(self.status.get('identity', {}))}".rstrip()

    @property
    def about(self) -> str:
        """Who answered and who judged, as far as statuses say it."""
        limit = (self.judged or self.status).get("identity", {}).get("max_words")
        judged = self.judge and f"judged by {self.judge}"
        return ", ".join(
            filter(None, (self.plugin("debater"), limit and f"at most {limit} words", judged))
        )

    @property
    def fallbacks(self) -> dict[Result, tuple[int, int]]:
        """How many results of each kind are fallbacks, and how many there are."""
        numbers = {}
        for status in (self.judged, self.status):
            for what, number in count_replaced(status.get("fallbacks", ())).items():
                numbers[what] = (number, total_of(what, status.get("counts", {})))
        return numbers


@frozen
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

    @property
    def lost(self) -> list[str]:
        """The lost debates, which are named after their lines."""
        return [
            f"debate-{at}" for at, (debate, _) in enumerate(self.debates, 1) if not debate.turns
        ]

    @cached_property
    def checked(self) -> Validation:
        """What is wrong with the lines of the file."""
        return check(self.path)


def read_sources(
    runs: Mapping[str, Path],
    criteria: Criteria,
    skipped: Mapping[Path, BadLines],
    refused: dict[str, str],
    *,
    may_lack_texts: bool = False,
) -> list[Source]:
    """Read the input files by name; those that cannot be read are added to `refused`.

    Verdicts `may_lack_texts`, if labels say by position what they are on.
    """

    def read(name: str, path: Path) -> Source:
        kind = files.detect_kind(path)
        bad = skipped[path]
        source = Source(name, path, kind, sha256_of(path), RunOrigin(known_status(path)))
        if kind is Kind.EVALUATIONS:
            debates = list(read_judged(path, criteria, bad))
            if not may_lack_texts:
                refuse_without_texts(path, debates)
            return replace(source, debates=debates)
        if kind in files.DEBATES:
            return replace(
                source,
                debates=[(debate, ()) for debate, _ in files.read_views(path, bad, keep_lost=True)],
            )
        if kind is Kind.CONTESTS:
            return replace(source, contests=list(files.read_contests(path, bad)))
        if kind is Kind.OUTCOMES:
            return replace(source, judgements=list(files.read_outcomes(path, bad)))
        if kind is not Kind.RUN:
            got = files.with_reader(path, kind)
            raise InputError(path, f"expected a run (such as evaluations), got {got}")
        # The rankings are read later; here only bad lines are found.
        deque(files.read_run(path, bad), maxlen=0)
        return source

    sources = []
    for source in each_run(runs, read, refused).values():
        debaters = sorted({debater_of(debate) for debate, _ in source.debates} - {""})
        sources.append(replace(source, origin=replace(source.origin, debater=names_of(debaters))))
    return sources


def raters_of(sources: Sequence[Source]) -> list[str]:
    """Return who gave the verdicts of each run: the judge of runs on several inputs, or the run.

    Runs of one judge on the same input, such as with and without an index, are raters of their own.
    """
    judged = [
        (source.origin.plugin("judge"), source.origin.status.get("identity", {}).get("input"))
        for source in sources
    ]
    judges = [judge for judge, _ in judged]
    return [
        judge if judges.count(judge) > judged.count((judge, digest)) == 1 else source.name
        for source, (judge, digest) in zip(sources, judged, strict=True)
    ]


def debates_of(
    sources: Sequence[Source],
    labels: Path | None,
    criteria: Criteria,
    labelled: Path | None = None,
    unscored: Container[str] = (),
) -> Iterator[DebateOfRun]:
    """Yield the debates of all runs, with their labels.

    Runs that are `unscored` may be on other debates, so their order says nothing of the labels.
    """
    unit = criteria.unit
    scored = [source for source in sources if source.name not in unscored]
    labels_by_words = _labels_by_words(scored, labels, criteria, labelled)
    for run, source in enumerate(sources):
        run_calls = calls(source.path)
        for line, (debate, verdicts) in enumerate(source.debates, 1):
            if not debate.turns:  # it is lost
                continue
            fallbacks = frozenset(
                at
                for at, turn in enumerate(debate.turns)
                if turn.response and fallback_of(turn.response.extra)
            )
            if not verdicts and source.kind is Kind.EVALUATIONS:
                verdicts = ({},)
            yield DebateOfRun(
                run,
                debate,
                verdicts,
                labels_by_words.get(digests(debate, unit), ()),
                run_calls,
                fallbacks,
                unit,
                line,
            )


def _labels_by_words(
    sources: Sequence[Source], labels: Path | None, criteria: Criteria, labelled: Path | None
) -> dict[tuple[str, ...], tuple[Labels, ...]]:
    """Return the labels of each debate by the digests of its turns.

    Where nothing but their order says whose they are, a run with a line for each of them has their
    debates. So a run that lacks a line shows the labels of its own debates.
    """
    if not labels or kind_of(labels) is not Kind.LABELS:
        return {}
    truth, _ = read_truth(labels, criteria, labelled)
    reference = known_reference(labels, truth, criteria, labelled)
    if reference:
        return dict(zip(map(tuple, reference.turns), map(tuple, truth), strict=True))
    fitting = [source for source in sources if len(source.debates) == len(truth)]
    best = min(fitting, key=lambda source: len(source.lost), default=None)
    pairs = zip(best.debates if best else (), truth, strict=False)
    return {digests(debate, criteria.unit): tuple(of_debate) for (debate, _), of_debate in pairs}
