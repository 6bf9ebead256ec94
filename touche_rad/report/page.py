"""Write the report: collect the values for the template and render one HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from touche_rad import __version__, files
from touche_rad.contests.score_report import ContestReport
from touche_rad.contests.scoring import score_contests
from touche_rad.contests.tournament.result import format_share
from touche_rad.debate import Debate, Maxim, Verdicts
from touche_rad.files import BadLines, Kind, Labels
from touche_rad.files.outputs import sha256_of
from touche_rad.plots.svg import Dot, dots, histogram
from touche_rad.report.asked import calls, costs
from touche_rad.report.contests import Drawings, contest_sections
from touche_rad.report.conversations import Conversation, DebateVerdicts, conversations
from touche_rad.report.tournament import read_tournament, split_runs_and_ratings
from touche_rad.score import score
from touche_rad.score.naming import names
from touche_rad.score.reports import JudgementReport, Report
from touche_rad.score.result import JudgementRow

MOST_DEBATES = 200
_PLAIN_WIDTH = 120
"""Characters in a line of scores that are shown as in the terminal."""


@dataclass(frozen=True)
class ReportSummary:
    """The counts of a report."""

    debates: int
    turns: int
    left_out: int


@dataclass(frozen=True)
class Source:
    """An input file of the report."""

    name: str
    path: Path
    kind: Kind
    sha256: str


def write_report(
    runs: Sequence[Path],
    out: Path,
    *,
    labels: Path | None = None,
    title: str | None = None,
    max_debates: int | None = None,
    seed: int = 0,
    bad: BadLines | None = None,
) -> ReportSummary:
    """Write one self-contained page.

    Args:
        runs: Official files of any kind, or tournaments; several are shown side by side.
        out: The HTML file to write.
        labels: Labels, qrels for TREC runs, or contests for whole debates.
        title: The title of the page.
        max_debates: Maximum number of debates to show; scores include all.
        seed: Random seed of the intervals.
        bad: What to do with bad lines.
    """
    runs, ratings = split_runs_and_ratings(runs)
    sources = [
        Source(name, path, files.detect_kind(path), sha256_of(path))
        for name, path in zip(names(runs), runs, strict=True)
    ]
    most, bad, drawings = max_debates or MOST_DEBATES, bad or BadLines(), Drawings()
    talks = conversations(_judged(sources, labels, bad))
    whole = list(contest_sections(sources, labels, drawings, bad))
    scored = _scored(sources, labels, seed)
    summary = ReportSummary(
        debates=len(talks) + len(whole), turns=sum(len(talk.exchanges) for talk in talks),
        left_out=max(0, len(talks) - most),
    )  # fmt: skip
    values: dict[str, Any] = {
        "wholes": whole[:most],
        "wholes_left_out": max(0, len(whole) - most),
        "tournaments": [_tournament(path) for path in ratings],
        "title": title or "touche-rad report",
        "sources": sources,
        "labels": labels and {"file": labels.name, "sha256": sha256_of(labels)},
        "talks": talks[:most],
        **vars(summary),
        "score": scored if isinstance(scored, JudgementReport) else None,
        "plain": scored.lines(_PLAIN_WIDTH)
        if scored and not isinstance(scored, JudgementReport)
        else [],
        "rates": _rates(sources, talks),
        "plots": list(_plots(sources, talks, scored)),
        "costs": [cost for source in sources for cost in costs(source.name, source.path)],
        "judged": not ratings or scored is not None or bool(talks),
        "maxims": list(Maxim),
        "seed": seed,
        "version": __version__,
    }
    with files.atomic_write(out) as page:
        page.write(_rendered(values, drawings))
    return summary


def _tournament(path: Path) -> dict[str, Any]:
    one = read_tournament(path)
    template = _environment().from_string(_text("tournament.html.jinja"))
    return {"name": one.name, "file": path.name, "sha256": sha256_of(path),
            "drawn": Markup(template.render(one=one, format_share=format_share))}  # fmt: skip


def _judged(
    sources: Sequence[Source], labels: Path | None, bad: BadLines
) -> Iterator[DebateVerdicts]:
    truth: list[tuple[Labels, ...]] = []
    if labels is not None and files.detect_kind(labels) is Kind.LABELS:
        truth = list(files.read_labels(labels))
    for source in sources:
        asked = calls(source.path)
        for number, (debate, verdicts) in enumerate(_read(source.kind, source.path, bad)):
            known = truth[number] if number < len(truth) else ()
            yield DebateVerdicts(source.name, debate, verdicts, known, asked)


def _read(kind: Kind, path: Path, bad: BadLines) -> Iterator[tuple[Debate, tuple[Verdicts, ...]]]:
    if kind is Kind.EVALUATIONS:
        for evaluation in files.read_evaluations(path, bad):
            yield evaluation.debate, evaluation.turns
    elif kind in files.DEBATES:
        for debate in files.read_debates(path, bad):
            yield debate, ()


def _scored(
    sources: Sequence[Source], labels: Path | None, seed: int
) -> Report | ContestReport | None:
    if labels is None:
        return None
    wanted = _TRUTHS.get(files.detect_kind(labels), Kind.EVALUATIONS)
    fitting = [source.path for source in sources if source.kind is wanted]
    if not fitting:
        return None
    if wanted is Kind.OUTCOMES:
        return score_contests(fitting, labels, seed=seed)
    return score(fitting, labels, seed=seed)


_TRUTHS = {Kind.QRELS: Kind.RUN, Kind.CONTESTS: Kind.OUTCOMES}


def _rates(sources: Sequence[Source], talks: Sequence[Conversation]) -> list[dict[str, Any]]:
    rows = []
    for source in sources:
        chips = [
            chip
            for talk in talks
            for exchange in talk.exchanges
            for run, row in exchange.judged
            for chip in row
            if run == source.name and chip.verdict is not None
        ]
        if chips:
            shares = {}
            for maxim in Maxim:
                said = [chip.verdict.yes for chip in chips if chip.maxim is maxim and chip.verdict]
                shares[maxim] = sum(said) / len(said) if said else 0.0
            rows.append({"run": source.name, "shares": shares, "verdicts": len(chips)})
    return rows


def _plots(
    sources: Sequence[Source], talks: Sequence[Conversation], scored: Report | ContestReport | None
) -> Iterator[tuple[str, Markup]]:
    order = {source.name: number for number, source in enumerate(sources)}
    if isinstance(scored, JudgementReport):
        groups = [
            (str(maxim), [_f1(row, order) for row in scored.rows if row.maxim == maxim])
            for maxim in Maxim
        ]
        yield "F1 of yes for each maxim, with 95 % intervals", dots("F1 for each maxim", groups)
    rates = _rates(sources, talks)
    if rates:
        shares = [(str(maxim), [_share(rate, maxim, order) for rate in rates]) for maxim in Maxim]
        yield "Share of yes among the verdicts", dots("Share of yes", shares)
    by_run: dict[str, list[int]] = {}
    for talk in talks:
        name = " and ".join(dict.fromkeys(talk.runs))
        lengths = [exchange.words for exchange in talk.exchanges if exchange.response]
        by_run.setdefault(name, []).extend(lengths)
    for number, (name, counts) in enumerate(by_run.items()):
        yield (
            f"Words per response: {name}",
            histogram(f"Words per response: {name}", counts, number),
        )


def _f1(row: JudgementRow, order: dict[str, int]) -> Dot:
    return Dot(row.run, row.f1, row.low, row.high, order.get(row.run, _OTHER))


def _share(rate: dict[str, Any], maxim: Maxim, order: dict[str, int]) -> Dot:
    return Dot(rate["run"], rate["shares"][maxim], None, None, order[rate["run"]])


_OTHER = 3
"""The plot series of the baseline."""


def _rendered(values: dict[str, Any], drawings: Drawings) -> str:
    scripts = [_text("report.js"), *drawings.scripts]
    styles = [_text("report.css"), *drawings.styles]
    template = _environment().from_string(_text("report.html.jinja"))
    page = template.render(
        **values,
        style=Markup("\n".join(styles)),
        scripts=[Markup(one) for one in scripts],
        digests=[_digest(one) for one in scripts],
    )
    return page.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd") + "\n"


def _environment() -> Environment:
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                       lstrip_blocks=True)  # fmt: skip


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _text(name: str) -> str:
    return resources(__package__).joinpath(name).read_text("utf-8")
