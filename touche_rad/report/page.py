"""Write the report: one HTML file, or a folder with the data in parts beside the page.

The page is data: its scripts make the views of it, and texts are only ever set as texts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Any, Final

from markupsafe import Markup

from touche_rad import files
from touche_rad.contests.scoring import score_contests
from touche_rad.criteria import Criteria
from touche_rad.debate import Debate
from touche_rad.errors import OptionError, UserError
from touche_rad.evidence.instructions import warning
from touche_rad.files import BadLines, Kind
from touche_rad.files.criteria import criteria_of
from touche_rad.files.outputs import UNKNOWN_FALLBACKS, say_replaced, sha256_of, status_or_problem
from touche_rad.files.records import make_folder, write_text
from touche_rad.frozen import frozen
from touche_rad.pages import read_asset, render_page, to_json
from touche_rad.report._browse import PART_LETTERS, debates_as_json
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
from touche_rad.report.inputs import read_tournament, split_runs_and_ratings, unfinished_in
from touche_rad.report.sources import (
    Source,
    debates_of,
    raters_of,
    read_sources,
)
from touche_rad.runs.fallbacks import ANSWERS
from touche_rad.runs.judging import VERDICTS
from touche_rad.samples import SAMPLES
from touche_rad.score import kind_of, score
from touche_rad.score.cautions import (
    judged_with_different_indexes,
    of_origins,
    unknown_judge,
    without_model,
)
from touche_rad.score.conversations import absent_topics, sorted_topics
from touche_rad.score.inputs import read_inputs
from touche_rad.score.naming import baseline_names, named
from touche_rad.score.people import are_debaters, score_people
from touche_rad.score.rates import count_verdicts
from touche_rad.score.reference import DEFAULT_POLICY, Policy, known_reference
from touche_rad.score.reports import RANKS, Report, RetrievalReport
from touche_rad.score.result import MISSING_OR_LOST, RunFault
from touche_rad.score.retrieval import is_public
from touche_rad.score.shares import (
    ShareReport,
    debates_of_input,
    faults_of_problems,
    in_other_order,
    inputs_of_a_run,
    lacks_texts,
    shares_of_debates,
)
from touche_rad.score.words import faults_in_words, names_of
from touche_rad.text import count_of

INDEX: Final = "index.html"
DATA: Final = "data"
_SCRIPTS: Final = ("data", "ranking", "tables", "reader", "debates", "wholes", "report")
_TABS: Final = {"debates": "Debates", "wholes": "Whole debates", "queries": "Queries"}
_KINDS_OF_RUNS: Final = {Kind.QRELS: Kind.RUN, Kind.CONTESTS: Kind.OUTCOMES}
_FILTERS: Final = {ANSWERS: {"mark": "fallback"}, VERDICTS: {"verdict": "fallback"}}
"""The filter of the reader for each kind of fallbacks."""
_MARKS: Final = {"too long response": "long", "no-argument response": "nothing"}
"""The mark of the reader's turns for what is counted of responses."""
_INVALID_LINE: Final = "invalid line"
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
    baselines: Sequence[Path] = (),
    bad: BadLines | None = None,
    boards: Sequence[Board] = (),
    faults: Iterable[RunFault] = (),
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
        baselines: The runs that have no rank.
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
    criteria = _criteria_of(criteria, [*paths, labels] if labels else paths)
    skipped = {path: BadLines(bad.skip) for path in paths}
    sources = read_sources(named(paths), criteria, skipped, refused, may_lack_texts=bool(labels))
    files_of_runs = {source.name: source.path for source in sources}
    names_of_runs = list(files_of_runs)
    scored = None if boards else _score(sources, labels, criteria, policy, seed, bad, baselines)
    unscored = scored.refused if scored else {}
    rows_of_files = list(_files(sources, refused, ratings, labels))
    without_texts = [source.name for source in sources if lacks_texts(source.debates)]
    sources = [
        replace(source, debates=()) if source.name in without_texts else source
        for source in sources
    ]
    judged = [source.debates if source.kind is Kind.EVALUATIONS else () for source in sources]
    lost_of_runs = [
        len(source.lost) if source.kind is Kind.EVALUATIONS else 0 for source in sources
    ]
    warnings = [*of_origins(files_of_runs, [labels, policy.debates]), *unfinished_in(runs)]
    warnings += judged_with_different_indexes(
        source.path for source in sources if source.judgements
    )
    debates_of_runs = (
        list(debates_of(sources, labels, criteria, policy.debates, unscored)) if debates else []
    )
    if not scored and not boards and debates and any(judged):
        scored = shares_of_debates(
            files_of_runs,
            debates_of_runs,
            lost_of_runs,
            criteria,
            samples=SAMPLES,
            seed=seed,
            source=policy.debates,
            baselines=baseline_names(baselines, files_of_runs),
        )
        judged_files = [files_of_runs[name] for name in scored.runs]
        warnings[:0] = without_model(judged_files)
        warnings += unknown_judge(judged_files)
    if baselines and not isinstance(scored, Report):
        raise OptionError("--baseline is for runs with a rank, and not for tournaments or panels")
    all_boards = [*boards, *(tournament_board(read_tournament(path)) for path in ratings)]
    if scored:
        all_boards += boards_of(scored)

    ranked = [row["run"] for board in all_boards for row in board["rows"]]
    in_order = sorted(names_of_runs, key=[*ranked, *names_of_runs].index)
    order = list(map(names_of_runs.index, in_order))

    # The debates, and what is counted of their responses. A ranking of shares is by one judge.
    is_one_judge = isinstance(scored, ShareReport) and not scored.not_ranked
    sections: list[_Section] = []
    responses: dict[str, Any] = {}
    problems: Mapping[tuple[str, str], int] = {}
    inputs: Sequence[Debate] = ()
    if policy.debates:  # what the ranking does not count is not shown either
        inputs = read_inputs(policy.debates, BadLines(skip=True))
        if labels:  # perhaps on the debates of all runs
            inputs = inputs_of_a_run(debates_of_runs, inputs)
        debates_of_runs, lacking = debates_of_input(debates_of_runs, inputs, len(sources))
        lost_of_runs = [
            number if of_run else 0 for number, of_run in zip(lacking, judged, strict=True)
        ]
    all_topics = sorted_topics(debates_of_runs, names_of_runs)
    all_topics.sort(key=lambda topic: topic.line)
    conversations = [debate for topic in all_topics for debate in topic.conversations]
    texts_of_runs = responses_of(conversations, names_of_runs)
    if conversations:
        counts, _, problems = count_verdicts(all_topics, names_of_runs, lost_of_runs, criteria)
        responses |= {
            "claims": verdicts_by_claim(counts, len(all_topics), criteria),
            "lengths": lengths_of(texts_of_runs),
        }
        if not is_one_judge or labels:
            responses["agreement"] = agreement_of(conversations, raters_of(sources), criteria)
        flagged = warning((debate.id or "?", debate.turns) for debate in conversations)
        if flagged:
            warnings.append(flagged)
        sections.append(
            _Section(
                "debates",
                *debates_as_json(all_topics, names_of_runs, order, criteria, is_one_judge),
            )
        )
    values: Mapping[str, Mapping[str, float]] = {}
    if isinstance(scored, RetrievalReport):
        values = {run: by_measure[scored.measures[0]] for run, by_measure in scored.values.items()}
    queries_of_runs = query_records(sources, queries or {}, index, labels, bad, values)
    for name, records in (
        ("wholes", contest_records(sources, labels, bad)),
        ("queries", queries_of_runs),
    ):
        section = _section(name, records)
        if section:
            sections.append(section)

    if without_texts:
        warnings.append(f"without texts, so only scored: {names_of(without_texts)}")
    not_scored = ", ".join([*refused, *unscored])
    # What a ranked run lacks, its scores count; what another one lacks, the table of the claims.
    unscored_problems = {key: number for key, number in problems.items() if key[0] in unscored}
    counted = [*ranked, *(run for run, _ in unscored_problems)]
    all_faults = [
        *faults,
        *(RunFault(name, 1, error) for name, error in refused.items()),
        *_faults_of_sources(sources, skipped, {path.parent for path in ratings}, counted),
    ]
    for source in sources:
        name = source.name
        if name not in texts_of_runs:
            continue
        for what, number in source.checked.odd.items():
            link = reader_link(mark=_MARKS[what], run=name) if what in _MARKS else ""
            if "uncited" not in what:  # that is allowed, and the demo's debates have some
                all_faults.append(RunFault(name, number, f"{what}s: {number}", link, what))
    if scored:
        # What the reader lists; of missing turns only those that a debate itself says it has.
        listed = ["lost debate", "missing debate", MISSING_OR_LOST, "missing verdict"]
        if isinstance(scored, ShareReport):
            listed.append("missing turn")
        for fault in (*faults_of(scored), *faults_of_problems(unscored_problems, {})):
            missing = reader_link(verdict="none", run=fault.run)
            all_faults.append(fault._replace(link=missing if fault.what in listed else ""))
    else:
        played = {source.name: source.path for source in sources if source.debates}
        all_faults += in_other_order(played, policy.debates)
    topics_of_runs = [*all_topics, *absent_topics(all_topics, inputs)]
    for run, source in enumerate(sources):
        names = source.lost
        lost = len(names)
        is_counted = source.name in counted
        absent = [
            f"{topic.line}. {topic.claim.rstrip('.')}"
            for topic in topics_of_runs
            if run not in topic.runs and (inputs or 2 * len(topic.runs) >= len(sources))
        ]
        # Without an input, only other runs tell what is missing, and which debates are lost.
        if source.debates and (inputs or is_counted or len(absent) > lost):
            names = absent
        if names:
            what = MISSING_OR_LOST
            which = f"{lost} lost, the others missing"
            if not lost:
                what = "missing debate"
                which = "on no line"
            elif len(names) <= lost:
                what = "lost debate"
                which = "on an empty or invalid line"
            text = f"{count_of(len(names), what)} ({which}): {'; '.join(names)}"
            all_faults.append(
                RunFault(
                    source.name,
                    0 if is_counted else len(names),
                    shorten(text, 2000),
                    what=what,
                )
            )

    kinds_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for fault in all_faults:
        if fault.number:
            kinds_of[fault.run][fault.what] += fault.number
    # What changes the ranking stands above it.
    decisive = faults_in_words(
        fault
        for fault in all_faults
        if "count as no" in fault.text
        or fault.text.startswith(f"{fault.number} of {fault.number} ")
    )
    cost_heads, cost_rows = costs_of(costs or files_of_runs)
    data = {
        "title": title or "touche-rad report",
        "boards": all_boards,
        "warnings": [
            *([f"not scored: {not_scored}"] if not_scored else []),
            *decisive,
            *warnings,
        ],
        "equal": RANKS,
        "abouts": {source.name: source.origin.about for source in sources},
        "judges": {source.name: source.origin.plugin("judge") for source in sources},
        "faults": [fault[:4] for fault in sorted(all_faults, key=lambda fault: fault.run)],
        "badges": {name: _badge(numbers) for name, numbers in kinds_of.items()},
        "files": page_table(
            "Files",
            _FILE_HEADS,
            [[*row, kinds_of[row[0]].total()] for row in rows_of_files],
            "listed faults: as in the ranking, with fallbacks and what only other runs have; "
            "touche-rad check counts those of a file alone",
        ),
        **responses,
    }
    if cost_rows:
        data["cost"] = page_table("Model calls by step", cost_heads, cost_rows, note=_COST_NOTE)
    page = _write(out, data, sections, seed)
    # Faults without a number are counted by others, which do not say why a line is invalid.
    warnings += faults_in_words(
        fault
        for fault in all_faults
        if fault.run not in refused and (fault.number or fault.what == _INVALID_LINE)
    )
    return ReportSummary(
        page,
        {**refused, **unscored},
        warnings,
        [all_boards[0]["title"], *all_boards[0]["text"]] if all_boards else (),
    )


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
_FILE_HEADS: Final = "name,finished,kind,debater,judge,lines,file,sha256,listed faults".split(",")


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
            origin.judge,
            len(source.debates or source.contests or source.judgements),
            source.path.name,
            [source.sha256, "num hash"],
        )
    for name in refused:
        yield name, "", "cannot be read", "", "", None, "", ""
    others = [(path.parent.name or path.name, path, "a tournament") for path in ratings]
    if labels:
        others.append(("truth", labels, kind_of(labels).value))
    for name, path, kind in others:
        public = path is labels and is_public(path)
        yield (
            name,
            "",
            kind,
            "",
            "",
            None,
            str(path) if public else path.name,
            "" if public else [sha256_of(path), "num hash"],
        )


def _faults_of_sources(
    sources: Sequence[Source],
    skipped: Mapping[Path, BadLines],
    tournaments: Iterable[Path],
    counted: Collection[str],
) -> Iterator[RunFault]:
    """Yield invalid lines, fallbacks, and verdicts in part."""
    for source in sources:
        lines = skipped[source.path]
        if lines.count:
            # The scores of a judge's run count them as missing debates.
            is_counted = source.kind is Kind.EVALUATIONS and source.name in counted
            number = 0 if is_counted else lines.count
            yield RunFault(
                source.name, number, f"invalid lines skipped: {lines}", what=_INVALID_LINE
            )
        origin = source.origin
        # The board of a tournament names the fallbacks of the speeches.
        if source.path.parent in tournaments:
            status = {**origin.status, "judged": {}} if source.judgements else {}
            origin = replace(origin, status=status)
        problem = status_or_problem(source.path)[1]
        if problem:
            yield RunFault(source.name, 0, f"{problem}; {UNKNOWN_FALLBACKS}")
        rows = [*origin.judged.get("fallbacks", ()), *origin.status.get("fallbacks", ())]
        # Where a status counts a kind, its number stands for that of the lines.
        of_lines = source.checked.replaced if source.debates else {}
        for what, counts in (of_lines | origin.fallbacks).items():
            link = reader_link(**_FILTERS[what], run=source.name) if what in _FILTERS else ""
            causes = [
                f"{row['count']} from {row.get('by')}: {row.get('reason')}"
                for row in rows
                if row["what"] == what
            ]
            text = shorten("; ".join([say_replaced({what: counts}), *causes]), 600)
            yield RunFault(source.name, counts[0], text, link, "fallback")
        reasons = [
            judgement.outcome.reason
            for judgement in source.judgements
            if judgement.outcome.decision is not None and judgement.outcome.reason
        ]
        if reasons:
            yield RunFault(
                source.name,
                len(reasons),
                f"{len(reasons)} of {len(source.judgements)} verdicts are in part; "
                f"the first: {reasons[0]}",
            )


def _badge(kinds: Counter[str]) -> str:
    """Say how many faults of each kind a run has; the ranking shows what is before the colon."""
    text = ", ".join(map(count_of, kinds.values(), kinds))
    if len(text) <= 14:  # a longer one makes the plot small
        return text
    return f"{count_of(kinds.total(), 'fault')}: {text}"


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
    tabs |= {
        name: name.capitalize()
        for name in ("claims", "agreement", "cost", "files")
        if data.get(name)
    }
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
    make_folder(out)
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
    baselines: Sequence[Path],
) -> Scored | None:
    if not labels:
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
    return scores(
        fitting,
        labels,
        criteria=criteria,
        policy=policy,
        seed=seed,
        bad=bad,
        baselines=baselines,
    )
