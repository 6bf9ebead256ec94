"""Write the report: one HTML file, or a folder with the data in parts beside the page.

The page is data: its scripts make the views of it, and texts are only ever set as texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from touche_rad import files
from touche_rad.contests.scoring import score_contests
from touche_rad.criteria import Criteria
from touche_rad.errors import UserError
from touche_rad.evidence.instructions import warning
from touche_rad.files import BadLines, Kind
from touche_rad.files.criteria import criteria_of
from touche_rad.files.outputs import say_replaced, sha256_of
from touche_rad.files.records import write_text
from touche_rad.frozen import frozen
from touche_rad.pages import read_asset, render_page, to_json
from touche_rad.report._browse import PART_LETTERS, WORD_LIMIT, debates_as_json
from touche_rad.report._contests import contest_records
from touche_rad.report._rankings import query_records
from touche_rad.report._responses import (
    agreement_of,
    lengths_of,
    responses_of,
    verdicts_by_claim,
)
from touche_rad.report.boards import (
    Board,
    Scored,
    boards_of,
    faults_of,
    page_table,
    reader_link,
    tournament_board,
)
from touche_rad.report.calls import costs_of
from touche_rad.report.inputs import read_tournament, split_runs_and_ratings
from touche_rad.report.sources import LOST, Source, debates_of, origins_of, read_sources
from touche_rad.runs.fallbacks import ANSWERS
from touche_rad.runs.judging import VERDICTS
from touche_rad.samples import SAMPLES
from touche_rad.score import kind_of, score
from touche_rad.score.cautions import (
    different_indexes,
    equal_files,
    judged_with_different_indexes,
    without_model,
)
from touche_rad.score.conversations import topics
from touche_rad.score.naming import named
from touche_rad.score.people import are_debaters, score_people
from touche_rad.score.reference import DEFAULT_POLICY, Policy, known_reference
from touche_rad.score.reports import RANKS, RetrievalReport
from touche_rad.score.retrieval import is_public
from touche_rad.score.shares import ShareReport, shares_of_debates
from touche_rad.score.words import faults_in_words, names_of
from touche_rad.text import count_of, count_words, is_blank

LinkedFault = tuple[str, int, str, str]
"""A fault, and the address of the turns that have it in the reader; empty without one."""
INDEX: Final = "index.html"
DATA: Final = "data"
_SCRIPTS: Final = ("data", "ranking", "tables", "reader", "debates", "wholes", "report")
_TABS: Final = {"debates": "Debates", "wholes": "Whole debates", "queries": "Queries"}
_KINDS_OF_RUNS: Final = {Kind.QRELS: Kind.RUN, Kind.CONTESTS: Kind.OUTCOMES}
_MARKS: Final = {ANSWERS: "fallback", VERDICTS: "judged"}
"""The filter of the reader for each kind of fallbacks."""
_BADGES: Final = {
    "#debates&mark=fallback": ("fallback",),
    "#debates&mark=judged": ("fallback",),
    "#debates&mark=long": ("too long", "too long"),
    "#debates&verdict=none": ("missing", "missing"),
}
"""What faults are, by the address of those of all runs in the reader."""
_NEEDED: Final = {Kind.RUN: "qrels", Kind.OUTCOMES: "contests or debates"}


@frozen
class ReportSummary:
    """What was written."""

    page: Path
    refused: Mapping[str, str]
    """Runs that could not be read or scored, and why."""
    warnings: Sequence[str]
    sentences: Sequence[str] = ()
    """What the first ranking says."""


@frozen
class _Section:
    """Debates, whole debates or queries: an index that its tab reads, and parts."""

    name: str
    index: str
    parts: Sequence[str]


def write_report(
    runs: Sequence[Path],
    out: Path,
    *,
    criteria: Criteria | None = None,
    labels: Path | None = None,
    title: str | None = None,
    seed: int = 0,
    bad: BadLines | None = None,
    boards: Sequence[Board] = (),
    faults: Iterable[LinkedFault] = (),
    costs: Mapping[str, Path] | None = None,
    debates: bool = True,
    queries: Mapping[str, str] | None = None,
    index: str | None = None,
    policy: Policy = DEFAULT_POLICY,
) -> ReportSummary:
    """Write a report that needs no server and loads nothing from the network.

    Args:
        runs: Official files of any kind, tournaments, or folders with runs.
        out: An HTML file, or a folder.
        criteria: What verdicts and labels are on. Default: what the runs name.
        labels: Labels, qrels for TREC runs, or contests or debates for outcomes.
        title: The title of the page.
        seed: Random seed of the intervals.
        bad: What to do with bad lines.
        boards: Rankings to show instead of those of the runs.
        faults: Problems of what these rankings name.
        costs: Files whose model calls are shown instead of those of the runs, by name.
        debates: Whether to show the debates.
        queries: The texts of the queries of TREC runs, by id.
        index: The argument index with the texts that TREC runs found.
        policy: How runs are matched to labels; `debates` names the labelled debates.
    """
    bad = bad or BadLines()
    refused: dict[str, str] = {}

    # Read the runs, and score those that fit the labels.
    paths, ratings = split_runs_and_ratings(runs, labels)
    criteria = _criteria_of(criteria, [*paths, *filter(None, [labels])])
    origins = origins_of(paths)
    skipped = {path: BadLines(bad.skip) for path in paths}
    sources = read_sources(named(paths), criteria, origins, skipped, refused)
    files_of_runs = {source.name: source.path for source in sources}
    names_of_runs = list(files_of_runs)
    scored = None if boards else _score(sources, labels, criteria, policy, seed, bad)
    unscored = scored.refused if scored else {}
    sources = [
        replace(source, debates=()) if source.name in unscored else source for source in sources
    ]
    judged = [source.debates if source.kind is Kind.EVALUATIONS else () for source in sources]
    lost = [of_run.count(LOST) for of_run in judged]
    made_by = ((source.name, source.origin.judged or source.origin.status) for source in sources)
    warnings = list(different_indexes(made_by))
    warnings += equal_files(source.path for source in sources)
    warnings += judged_with_different_indexes(
        source.path for source in sources if source.judgements
    )
    debates_of_runs = list(debates_of(sources, labels, criteria, policy.debates)) if debates else []
    if scored is None and not boards and debates and any(judged):
        scored = shares_of_debates(
            files_of_runs,
            debates_of_runs,
            lost,
            criteria,
            samples=SAMPLES,
            seed=seed,
            source=policy.debates,
        )
        warnings[:0] = without_model(files_of_runs.values())
    all_boards = [*boards, *(tournament_board(read_tournament(path)) for path in ratings)]
    if scored is not None:
        all_boards += boards_of(scored)

    # The debates, and what is counted of their responses. A ranking of shares is by one judge.
    is_one_judge = isinstance(scored, ShareReport) and not scored.not_ranked
    sections: list[_Section] = []
    responses: dict[str, Any] = {}
    all_topics = topics(debates_of_runs)
    conversations = [debate for topic in all_topics for debate in topic.conversations]
    texts_of_runs = responses_of(conversations, names_of_runs)
    if conversations:
        responses["claims"] = verdicts_by_claim(all_topics, names_of_runs, lost, criteria)
        responses["lengths"] = lengths_of(texts_of_runs)
        if not is_one_judge or labels:
            responses["agreement"] = agreement_of(conversations, names_of_runs, criteria)
        flagged = warning((debate.id or "?", debate.turns) for debate in conversations)
        if flagged:
            warnings.append(flagged)
        sections.append(
            _Section("debates", *debates_as_json(all_topics, names_of_runs, criteria, is_one_judge))
        )
    values: Mapping[str, Mapping[str, float]] = {}
    if isinstance(scored, RetrievalReport):
        values = {run: by_measure[scored.measures[0]] for run, by_measure in scored.values.items()}
    for name, records in (
        ("wholes", contest_records(sources, labels, bad)),
        ("queries", query_records(sources, queries or {}, index, labels, bad, values)),
    ):
        section = _section(name, records)
        if section:
            sections.append(section)

    all_faults = [
        *faults,
        *((name, 1, error, "") for name, error in refused.items()),
        *_faults_of_sources(sources, skipped, {path.parent for path in ratings}),
        *_odd_responses(texts_of_runs),
    ]
    ranked: set[str] = set()
    if scored is not None:
        for fault in faults_of(scored):
            # The reader lists the debates and the turns without a verdict.
            missing = reader_link(verdict="none", run=fault[0])
            all_faults.append((*fault, missing if fault[2].startswith("missing ") else ""))
        ranked.update(row.run for row in scored.rows)
    for source in sources:
        places = [f"debate {at}" for at, debate in enumerate(source.debates, 1) if debate == LOST]
        if places:
            # Of a run with a rank, the scores count them.
            all_faults.append(
                (
                    source.name,
                    0 if source.name in ranked else len(places),
                    f"{count_of(len(places), 'lost debate')}: {names_of(places)}",
                    "",
                )
            )

    faulty: Counter[str] = Counter()
    links_of: dict[str, list[str]] = {}
    for name, number, _, link in all_faults:
        faulty[name] += number
        if number:
            links_of.setdefault(name, []).append(link)
    cost_heads, cost_rows = costs_of(costs or files_of_runs)
    data = {
        "title": title or "touche-rad report",
        "boards": all_boards,
        "warnings": [f"not scored: {', '.join(refused)}", *warnings] if refused else warnings,
        "equal": RANKS,
        "abouts": {source.name: source.origin.about for source in sources},
        "judges": {source.name: source.origin.plugin("judge") for source in sources},
        "faults": all_faults,
        "badges": {name: _badge(faulty[name], *links) for name, links in links_of.items()},
        "files": page_table(
            "Files",
            [*_FILE_HEADS, "faults"],
            [[*row, faulty[row[0]]] for row in _files(sources, refused, ratings, labels)],
        ),
        **responses,
    }
    if cost_rows:
        data["cost"] = page_table("Model calls by step", cost_heads, cost_rows, note=_COST_NOTE)
    page = _write(out, data, sections, seed)
    sentences = [all_boards[0]["title"], *all_boards[0]["text"]] if all_boards else []
    refused |= unscored
    # Faults without a number are counted by others.
    warnings += faults_in_words(
        fault[:3] for fault in all_faults if fault[1] and fault[0] not in refused
    )
    return ReportSummary(page, refused, warnings, sentences)


def _criteria_of(chosen: Criteria | None, paths: Iterable[Path]) -> Criteria:
    """Return the criteria of the verdicts and the labels, which are the same ones."""
    judged = []
    for path in paths:
        with suppress(UserError):  # it is reported when it is read
            if files.detect_kind(path) in (Kind.EVALUATIONS, Kind.LABELS):
                judged.append(path)
    return criteria_of(chosen, *judged)


def _section(name: str, records: Iterable[tuple[dict[str, Any], Any]]) -> _Section | None:
    """Return a section of records, with an entry for each to list and filter it."""
    entries: list[dict[str, Any]] = []
    parts: list[list[str]] = [[]]
    for fields, record in records:
        if sum(map(len, parts[-1])) > PART_LETTERS:
            parts.append([])
        entries.append({**fields, "part": len(parts) - 1, "place": len(parts[-1])})
        parts[-1].append(to_json(record))
    if not entries:
        return None
    return _Section(name, to_json(entries), [f"[{','.join(part)}]" for part in parts])


_COST_NOTE: Final = "Calls run in parallel, so the sum of their seconds is more than the run took."
_FILE_HEADS: Final = (*("name", "finished", "kind", "debater", "judge", "lines", "file", "sha256"),)


def _files(
    sources: Sequence[Source], refused: Iterable[str], ratings: Sequence[Path], labels: Path | None
) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each input file: the runs, and what is no run or cannot be read."""
    for source in sources:
        origin = source.origin
        yield (
            source.name,
            [str(origin.status.get("finished") or "")[:16].replace("T", " "), "num"],
            source.kind.value,
            origin.plugin("debater"),
            origin.plugin("judge"),
            len(source.debates or source.contests or source.judgements),
            source.path.name,
            [source.sha256, "num hash"],
        )
    for name in refused:
        yield name, "", "cannot be read", "", "", None, "", ""
    others = [(path.parent.name or path.name, path, "a tournament") for path in ratings]
    if labels is not None:
        others.append(("truth", labels, kind_of(labels).value))
    for name, path, kind in others:
        public = path is labels and is_public(path)
        file = str(path) if public else path.name
        yield name, "", kind, "", "", None, file, "" if public else sha256_of(path)


def _faults_of_sources(
    sources: Sequence[Source], skipped: Mapping[Path, BadLines], tournaments: Iterable[Path]
) -> Iterator[LinkedFault]:
    """Yield invalid lines, fallbacks, and verdicts in part."""
    for source in sources:
        lines = skipped[source.path]
        if lines.count:
            text = f"{count_of(lines.count, 'invalid line')} skipped; the first: {lines.first}"
            yield source.name, lines.count, text, ""
        origin = source.origin
        # The board of a tournament names the fallbacks of the speeches.
        if source.path.parent in tournaments:
            status = origin.status if source.judgements else {}
            origin = replace(origin, status=status, judged={})
        for what, counts in replace(source, origin=origin).fallbacks.items():
            link = reader_link(mark=_MARKS[what], run=source.name) if what in _MARKS else ""
            yield source.name, counts[0], say_replaced({what: counts}), link
        reasons = [
            judgement.outcome.reason
            for judgement in source.judgements
            if judgement.outcome.decision is not None and judgement.outcome.reason
        ]
        if reasons:
            yield (
                source.name,
                len(reasons),
                f"{len(reasons)} of {len(source.judgements)} verdicts are in part; "
                f"the first: {reasons[0]}",
                "",
            )


def _badge(number: int, link: str, *others: str) -> tuple[str, str]:
    """Return what stands beside a run in the ranking: how many faults of what kind, and a link."""
    link = "" if others else link
    return count_of(number, *_BADGES.get(link.partition("&run=")[0], ("fault",))), link


def _odd_responses(texts: Mapping[str, Sequence[str]]) -> Iterator[LinkedFault]:
    """Yield how many answers of each run are empty, or have more words than the task allows."""
    for name, answers in texts.items():
        empty = sum(map(is_blank, answers))
        if empty:
            yield name, empty, f"{empty} of {len(answers)} answers are empty", ""
        long = sum(count_words(text) > WORD_LIMIT for text in answers)
        if long:
            yield (
                name,
                long,
                f"{count_of(long, 'response')} with more than {WORD_LIMIT} words",
                reader_link(mark="long", run=name),
            )


def _write(out: Path, data: Mapping[str, Any], sections: Sequence[_Section], seed: int) -> Path:
    """Write one file, or a folder with the parts beside the page."""
    tabs = {"ranking": "Ranking"} if data["boards"] else {}
    islands = [("report", Markup(to_json(data)))]
    parts: dict[str, str] = {}
    for section in sections:
        tabs[section.name] = _TABS[section.name]
        islands.append((f"data-{section.name}", Markup(section.index)))
        for number, part in enumerate(section.parts):
            parts[f"{section.name[0]}{number}"] = part
    for name in ("claims", "agreement", "cost", "files"):
        if data.get(name):
            tabs[name] = name.capitalize()
    is_file = out.is_file() or (not out.is_dir() and out.suffix.lower() in (".html", ".htm"))
    if is_file:
        islands += [(f"part-{name}", Markup(part)) for name, part in parts.items()]
    page = render_page(
        "report/report.html.jinja",
        title=data["title"],
        seed=seed,
        tabs=tabs,
        islands=islands,
        scripts=[read_asset(f"report/{name}.js") for name in _SCRIPTS],
        styles=[read_asset("report/report.css")],
        policy={} if is_file or not parts else {"script-src": "'self'"},
    )
    if is_file:
        write_text(out, page)
        return out
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / INDEX, page)  # first, because it may be refused
    folder = out / DATA
    folder.mkdir(exist_ok=True)
    for path in folder.glob("[dqw][0-9]*.js"):  # of an earlier report
        path.unlink()
    for name, part in parts.items():
        write_text(folder / f"{name}.js", f'radPart("{name}",{part});\n')
    return out / INDEX


def _score(
    sources: Sequence[Source],
    labels: Path | None,
    criteria: Criteria,
    policy: Policy,
    seed: int,
    bad: BadLines,
) -> Scored | None:
    if labels is None:
        return None
    truth = kind_of(labels)
    kind = _KINDS_OF_RUNS.get(truth, Kind.EVALUATIONS)
    if truth in files.DEBATES and any(source.judgements for source in sources):
        kind = Kind.OUTCOMES
    fitting = {source.name: source.path for source in sources if source.kind is kind}
    # People's answers rank also debates without verdicts.
    if (
        truth is Kind.LABELS
        and not fitting
        and known_reference(
            labels,
            list(files.read_labels(labels, criteria=criteria)),
            criteria,
            policy.debates,
        )
    ):
        fitting = {source.name: source.path for source in sources if source.debates}
    if not fitting:
        # Debates are shown with their labels, and contests with their winners, also without runs.
        shows_labels = any(
            source.debates if truth is Kind.LABELS else source.contests for source in sources
        )
        if sources and not shows_labels:
            needed = {source.kind: _NEEDED.get(source.kind, "labels") for source in sources}
            expected = ", ".join(f"{kind} needs {truths}" for kind, truths in needed.items())
            raise UserError(f"--labels {labels} contains {truth}: {expected}")
        return None
    if kind is Kind.OUTCOMES:
        return score_contests(fitting, labels, seed=seed, bad=bad)
    is_of_people = truth is Kind.LABELS and are_debaters(fitting.values(), labels, policy, criteria)
    scores: Callable[..., Scored] = score_people if is_of_people else score
    return scores(fitting, labels, criteria=criteria, policy=policy, seed=seed, bad=bad)
