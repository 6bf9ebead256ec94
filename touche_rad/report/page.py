"""Write the report: one HTML file, or a folder with the data in parts beside the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import mul
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from touche_rad import files
from touche_rad.contests.score_report import ContestReport
from touche_rad.contests.scoring import score_contests
from touche_rad.criteria import Criteria, grice
from touche_rad.errors import UserError
from touche_rad.evidence.instructions import warning
from touche_rad.files import BadLines, Kind
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import write_text
from touche_rad.pages import read_asset, render_fragment, render_page, to_json
from touche_rad.plots.svg import Dot, dot_plot
from touche_rad.report._browse import PART_LETTERS, WORD_LIMIT, debates_as_json
from touche_rad.report._contests import contest_sections
from touche_rad.report._rankings import queries_of
from touche_rad.report._rates import rate_board, turn_plot
from touche_rad.report._tournament import (
    is_folder_of_runs,
    read_tournament,
    split_runs_and_ratings,
    tournament_board,
)
from touche_rad.report.boards import Board, BoardTable
from touche_rad.report.calls import cost_board
from touche_rad.report.leaderboards import contest_board, judgement_board, retrieval_board
from touche_rad.report.sources import LOST, Source, debates_of, origins_of, read_sources
from touche_rad.score import kind_of, score
from touche_rad.score.cautions import different_indexes, without_model
from touche_rad.score.conversations import ClaimTopic, Conversation, topics
from touche_rad.score.naming import names
from touche_rad.score.reports import JudgementReport, RetrievalReport
from touche_rad.score.retrieval import is_public
from touche_rad.score.tables import NONE
from touche_rad.text import count_of, count_words

INDEX: Final = "index.html"
DATA: Final = "data"
_SAMPLES: Final = 10_000
Scored = JudgementReport | RetrievalReport | ContestReport


@dataclass(frozen=True)
class ReportSummary:
    """What was written."""

    page: Path
    refused: Mapping[str, str]
    """Runs that could not be read or scored, and why."""
    warnings: Sequence[str]
    sentences: Sequence[str] = ()
    """What the first leaderboard says."""


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
    debates: bool = True,
    queries: Mapping[str, str] | None = None,
    index: str | None = None,
) -> ReportSummary:
    """Write a report that needs no server and loads nothing from the network.

    Args:
        runs: Official files of any kind, tournaments, or folders with runs.
        out: An HTML file, or a folder.
        criteria: What verdicts and labels are on. Default: the criteria of the task.
        labels: Labels, qrels for TREC runs, or contests or debates for outcomes.
        title: The title of the page.
        seed: Random seed of the intervals.
        bad: What to do with bad lines.
        boards: Leaderboards to show instead of those of the runs.
        debates: Whether to show the debates.
        queries: The texts of the queries of TREC runs, by id.
        index: The argument index with the texts that TREC runs found.
    """
    bad = bad or BadLines()
    criteria = criteria or grice()
    refused: dict[str, str] = {}

    # Read the runs, and score those that fit the labels.
    paths, ratings = split_runs_and_ratings(runs, labels)
    origins = origins_of(paths)
    skipped = {path: BadLines(bad.skip) for path in paths}
    by_name = dict(zip(names(paths), paths, strict=True))
    sources = read_sources(by_name, criteria, origins, skipped, refused)
    scored = None if boards else _score(sources, labels, criteria, seed, bad)
    unscored = scored.refused if scored else {}
    sources = [
        replace(source, debates=()) if source.name in unscored else source for source in sources
    ]

    # The boards: of a bench, of tournaments, of scores, and of what the runs say themselves.
    all_boards = [*boards, *(tournament_board(read_tournament(path)) for path in ratings)]
    if isinstance(scored, JudgementReport):
        all_boards.append(judgement_board(scored))
    elif isinstance(scored, ContestReport):
        all_boards.append(contest_board(scored))
    elif scored is not None:
        all_boards.append(retrieval_board(scored))

    browsers: list[_Browser] = []
    summary: list[str] = []
    all_topics = topics(debates_of(sources, labels, criteria)) if debates else []
    if all_topics:
        conversations = [debate for topic in all_topics for debate in topic.conversations]
        if not boards:
            names_of_runs = [source.name for source in sources]
            lost = [source.debates.count(LOST) for source in sources]
            rated = None
            if scored is None:
                rated = _rate_board(all_topics, sources, lost, criteria, seed)
            if rated is not None:
                all_boards.append(rated)
            elif not all_boards:
                all_boards.append(Board("Responses", ["These runs contain no verdicts."]))
            by_turn = turn_plot(all_topics, names_of_runs, lost, criteria)
            if by_turn:
                all_boards[-1].plots.append(by_turn)
            all_boards[-1].plots.append(_length_plot(conversations, names_of_runs))
            costs = cost_board({source.name: source.path for source in sources})
            if costs:
                all_boards.append(costs)
        if all_boards:
            all_boards[0].warnings.extend(_long_responses(conversations, sources))
        flagged = warning((debate.id or "?", debate.turns) for debate in conversations)
        if flagged and all_boards:
            all_boards[0].warnings.append(flagged)
        about_runs = [
            {"name": source.name, "kind": source.kind.value, "about": source.origin.about}
            for source in sources
        ]
        data, parts = debates_as_json(all_topics, about_runs, criteria)
        browsers.append(_Browser("debates", "Debates", _DEBATES, data, parts))
        summary += _count_debates(conversations, scored)

    # Whole debates and queries are made as HTML here, debates of the task by the page's script.
    fragments: list[tuple[dict[str, Any], str]] = []
    for number, section in enumerate(contest_sections(sources, labels, bad), 1):
        html = render_fragment("report/contest.html.jinja", debate=section, id=f"w{number}")
        fragments.append((section.entry, html))
    if fragments:
        browsers.append(_fragment_browser("wholes", "Whole debates", _WHOLES, fragments))
        summary.append(count_of(len(fragments), "whole debate"))

    fragments = []
    for number, query in enumerate(queries_of(sources, queries or {}, index, labels, bad), 1):
        html = render_fragment("report/ranking.html.jinja", query=query, id=f"q{number}")
        fragments.append(({"id": query.id, "motion": query.text or query.id}, html))
    if fragments:
        browsers.append(_fragment_browser("queries", "Queries", _QUERIES, fragments))
        summary.append(count_of(len(fragments), "query", "queries"))

    ranked: set[str] = set()
    for board in all_boards:
        ranked.update(board.scores)
    if not boards and len(sources) > 1:
        runs_board = _runs_board(sources, refused, all_boards)
        # Of a folder, a reader first wants to know what is in it.
        first = any(map(is_folder_of_runs, runs))
        all_boards.insert(0 if first else len(all_boards), runs_board)
    tournaments = {path.parent for path in ratings}
    warnings = list(_warnings(sources, skipped, ranked, tournaments))
    runs_alone = [source.name for source in sources if source.path.parent not in tournaments]
    summary.insert(
        0, _count_files(runs_alone, ranked if scored else (), len(refused), len(ratings))
    )
    page = _write(
        out,
        browsers,
        title=title or "touche-rad report",
        summary=summary,
        boards=all_boards,
        sources=list(_files(sources, ratings, labels)),
        abouts={source.name: source.origin.about for source in sources},
        refused=refused,
        warnings=warnings,
        seed=seed,
    )
    sentences = next((board.sentences for board in all_boards if board.scores), [])
    return ReportSummary(page, {**refused, **unscored}, warnings, sentences)


@dataclass(frozen=True)
class _Browser:
    """A part of the page that lists debates, whole debates or queries, and shows one of them."""

    name: str
    heading: str
    about: str
    index: str
    """JSON that the page reads at once."""
    parts: Sequence[str]
    """JSON that is read when it is needed."""


def _fragment_browser(
    name: str, heading: str, about: str, fragments: Sequence[tuple[dict[str, Any], str]]
) -> _Browser:
    """Return a browser of HTML fragments, with an entry for each to list and filter it."""
    entries: list[dict[str, Any]] = []
    parts: list[str] = []
    part: list[str] = []
    for fields, html in fragments:
        entries.append({**fields, "part": len(parts), "place": len(part)})
        part.append(html)
        if sum(map(len, part)) > PART_LETTERS:
            parts.append(to_json(part))
            part = []
    parts.append(to_json(part))
    return _Browser(name, heading, about, to_json({"contests": entries}), parts)


def _rate_board(
    all_topics: Sequence[ClaimTopic],
    sources: Sequence[Source],
    lost: Sequence[int],
    criteria: Criteria,
    seed: int,
) -> Board | None:
    """Return the board of runs without labels, if they have verdicts."""
    judges = {source.name: source.origin.plugin("judge") for source in sources}
    board = rate_board(all_topics, judges, lost, criteria, samples=_SAMPLES, seed=seed)
    if board is not None:
        board.warnings.extend(without_model(source.path for source in sources))
    return board


def _count_debates(conversations: Sequence[Conversation], scored: Scored | None) -> Iterator[str]:
    """Yield the numbers of labelled debates and of all debates, with their turns."""
    if isinstance(scored, JudgementReport):
        labelled = count_of(scored.debates, "labelled debate")
        yield f"{labelled}, {count_of(scored.turns, 'turn')}"
        if len(conversations) == scored.debates:
            return
    turns = [len(debate.turns) for debate in conversations]
    copies = [len(debate.runs) + len(debate.repeated) for debate in conversations]
    total = sum(copies)
    different = f" ({len(turns)} and {sum(turns)} different)" if total > len(turns) else ""
    all_turns = count_of(sum(map(mul, copies, turns)), "turn")
    yield f"{count_of(total, 'debate')}, {all_turns}{different}"


def _long_responses(
    conversations: Sequence[Conversation], sources: Sequence[Source]
) -> Iterator[str]:
    """Yield a warning for each run with responses of more words than the task allows."""
    long: Counter[str] = Counter()
    for debate in conversations:
        responses = [turn.response.content for turn in debate.turns if turn.response]
        for run in debate.runs:
            long[sources[run].name] += sum(count_words(text) > WORD_LIMIT for text in responses)
    for name, count in (+long).items():
        yield f"{name}: {count_of(count, 'response')} with more than {WORD_LIMIT} words"


def _runs_board(
    sources: Sequence[Source], refused: Iterable[str], boards: Sequence[Board]
) -> Board:
    """Return a table of the runs, newest first."""
    scores: dict[str, str] = {}
    for board in boards:
        scores |= board.scores
    rows: list[dict[str, str]] = []
    for source in sources:
        origin = source.origin
        units = source.debates or source.contests or source.judgements
        rows.append(
            {
                "run": source.name,
                "finished": str(origin.status.get("finished") or "")[:16].replace("T", " "),
                "kind": source.kind.value,
                "debater": origin.plugin("debater"),
                "judge": origin.plugin("judge"),
                "debates": str(len(units) or ""),
                "fallbacks": source.fallbacks or ("0" if origin.status else ""),
                "score": scores.get(source.name, ""),
            }
        )
    heads = list(rows[0])
    rows.extend({"run": name, "kind": "cannot be read"} for name in refused)
    rows.sort(key=lambda row: row.get("finished") or NONE, reverse=True)
    cells = []
    for row in rows:
        cells.append([row.get(head) or NONE for head in heads])
    return Board("Runs", [], _RUNS, [BoardTable("Runs", heads, cells)])


def _files(
    sources: Sequence[Source], ratings: Sequence[Path], labels: Path | None
) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, file, kind and digest of each input file."""
    for source in sources:
        yield source.name, source.path.name, source.kind.value, source.sha256
    for path in ratings:
        yield path.parent.name or path.name, path.name, "a tournament", sha256_of(path)
    if labels is not None and is_public(labels):
        yield "truth", str(labels), kind_of(labels).value, ""
    elif labels is not None:
        yield "truth", labels.name, kind_of(labels).value, sha256_of(labels)


def _count_files(runs: Sequence[str], ranked: Collection[str], refused: int, ratings: int) -> str:
    """Say how many runs are scored, not scored and not read; nothing of what there is none of."""
    states = [count_of(len(runs), "run")]
    if ranked:
        scored = sum(name in ranked for name in runs)
        states = [count_of(scored, "run scored", "runs scored"), f"{len(runs) - scored} not scored"]
    states += [f"{refused} not read", count_of(ratings, "tournament")]
    states = [state for state in states if not state.startswith("0 ")]
    text = ", ".join(states)
    return f"{len(runs) + refused + ratings} files: {text}" if len(states) > 1 else text


def _warnings(
    sources: Sequence[Source],
    skipped: Mapping[Path, BadLines],
    ranked: Collection[str],
    tournaments: Collection[Path],
) -> Iterator[str]:
    """Yield warnings on indexes, lines, verdicts, fallbacks, and lost debates of unranked runs."""
    yield from different_indexes((source.name, source.origin.judged) for source in sources)
    yield from different_indexes((source.name, source.origin.status) for source in sources)
    for source in sources:
        lines = skipped[source.path]
        if lines.count:
            count = count_of(lines.count, "invalid line")
            yield f"{source.name}: {count} skipped; the first: {lines.first}"
        origin = source.origin
        # The board of a tournament names the fallbacks of the speeches.
        if source.path.parent in tournaments:
            status = origin.status if source.judgements else {}
            origin = replace(origin, status=status, judged={})
        fallbacks = replace(source, origin=origin).fallbacks
        if fallbacks:
            yield f"{source.name}: {fallbacks} are fallbacks or missing"
        reasons = []
        for judgement in source.judgements:
            if judgement.outcome.decision is not None and judgement.outcome.reason:
                reasons.append(judgement.outcome.reason)
        if reasons:
            count = f"{len(reasons)} of {len(source.judgements)} verdicts"
            yield f"{source.name}: {count} are in part; the first: {reasons[0]}"
        lost = source.debates.count(LOST)
        if lost and source.name not in ranked:
            yield f"{source.name}: {count_of(lost, 'lost debate')} left out"


def _write(out: Path, browsers: Sequence[_Browser], **content: object) -> Path:
    """Write one file, or a folder with the parts beside the page."""
    parts: dict[str, str] = {}
    links = [("scores", "Scores")] if content["boards"] else []
    islands = []
    for browser in browsers:
        links.append((browser.name, browser.heading))
        islands.append((f"data-{browser.name}", Markup(browser.index)))
        for number, part in enumerate(browser.parts):
            parts[f"{browser.name[0]}{number}"] = part
    links.append(("sources", "Sources"))
    is_file = out.is_file() or (not out.is_dir() and out.suffix.lower() in (".html", ".htm"))
    if is_file:
        islands += [(f"part-{name}", Markup(part)) for name, part in parts.items()]
    page = render_page(
        "report/report.html.jinja",
        links=links,
        browsers=browsers,
        islands=islands,
        scripts=[read_asset("report/report.js")],
        styles=[read_asset("report/report.css")],
        policy={} if is_file or not parts else {"script-src": "'self'"},
        **content,
    )
    if is_file:
        write_text(out, page)
        return out
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / INDEX, page)  # first, because it may be refused
    data = out / DATA
    data.mkdir(exist_ok=True)
    for path in data.glob("[dqw][0-9]*.js"):  # of an earlier report
        path.unlink()
    for name, part in parts.items():
        write_text(data / f"{name}.js", f'radPart("{name}",{part});\n')
    return out / INDEX


_DEBATES: Final = (
    "A number after a sentence names the cited argument that supports it; a wavy line marks a "
    "sentence that no cited argument supports. The task's annotators saw the first two."
)
_WHOLES: Final = (
    "The verdicts of panels on whole debates, with their scores by dimension and by speech. Open "
    "a score to read the comment."
)
_QUERIES: Final = "The ten best arguments of each run; --queries and -i add the texts."
_RUNS: Final = (
    "Dates, plugins and fallbacks are from the status file beside each run. The score is that of "
    "the leaderboard: mean F1, share of yes, accuracy or nDCG@10."
)
_KINDS_OF_RUNS: Final = {Kind.QRELS: Kind.RUN, Kind.CONTESTS: Kind.OUTCOMES}
_NEEDED: Final = {Kind.RUN: "qrels", Kind.OUTCOMES: "contests or debates"}


def _score(
    sources: Sequence[Source], labels: Path | None, criteria: Criteria, seed: int, bad: BadLines
) -> Scored | None:
    if labels is None:
        return None
    truth = kind_of(labels)
    kind = _KINDS_OF_RUNS.get(truth, Kind.EVALUATIONS)
    if truth in files.DEBATES and any(source.judgements for source in sources):
        kind = Kind.OUTCOMES
    fitting = {source.name: source.path for source in sources if source.kind is kind}
    if not fitting:
        # Debates are shown with their labels, and contests with their winners, also without runs.
        if truth is Kind.LABELS:
            shows_labels = any(source.debates for source in sources)
        else:
            shows_labels = any(source.contests for source in sources)
        if sources and not shows_labels:
            needed = {source.kind: _NEEDED.get(source.kind, "labels") for source in sources}
            expected = ", ".join(f"{kind} needs {truths}" for kind, truths in needed.items())
            raise UserError(f"--labels {labels} contains {truth}: {expected}")
        return None
    paths = list(fitting.values())
    tags = list(fitting)
    if kind is Kind.OUTCOMES:
        return score_contests(paths, labels, seed=seed, bad=bad, tags=tags)
    return score(paths, labels, criteria=criteria, seed=seed, bad=bad, tags=tags)


def _length_plot(conversations: Sequence[Conversation], names: Sequence[str]) -> Markup:
    """Plot the words per response: the median and the middle 90 % of each run."""
    lengths: dict[str, list[int]] = {}
    for debate in conversations:
        counts = [count_words(turn.response.content) for turn in debate.turns if turn.response]
        if counts:
            for run in debate.runs:
                lengths.setdefault(names[run], []).extend(counts)
    # Judges of the same responses share a row.
    runs_by_lengths: dict[tuple[int, ...], list[str]] = {}
    for name, counts in lengths.items():
        runs_by_lengths.setdefault(tuple(sorted(counts)), []).append(name)
    rows = []
    for counts_of_runs, runs in runs_by_lengths.items():
        name = runs[0] if len(runs) == 1 else f"{len(runs)} runs"
        cut = len(counts_of_runs) // 20
        median = counts_of_runs[len(counts_of_runs) // 2]
        rows.append(Dot(name, median, counts_of_runs[cut], counts_of_runs[-1 - cut]))
    return dot_plot(
        "Words per response: median, and the middle 90 %",
        rows,
        [("limit", 60.0)],
        digits=0,
        axis=(0.0,),
    )
