"""Write the report: one HTML file, or a folder with the data in parts beside the page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from touche_rad.report._browse import PART_LETTERS, browser
from touche_rad.report._contests import contest_sections
from touche_rad.report._conversations import ClaimTopic, Conversation, topics
from touche_rad.report._rankings import queries_of
from touche_rad.report._rates import rate_board, turn_plot
from touche_rad.report._sources import LOST, Source, debates_of, origins_of, read_sources, run_names
from touche_rad.report._tournament import (
    is_folder_of_runs,
    read_tournament,
    split_runs_and_ratings,
    tournament_board,
)
from touche_rad.report.boards import Board, BoardTable, without_model
from touche_rad.report.calls import cost_board
from touche_rad.report.leaderboards import contest_board, judgement_board, retrieval_board
from touche_rad.score import kind_of, score
from touche_rad.score.naming import names
from touche_rad.score.reports import JudgementReport, RetrievalReport
from touche_rad.score.retrieval import is_public
from touche_rad.score.tables import NONE
from touche_rad.text import count_of, count_words

SCRIPT: Final = "report/report.js"
INDEX: Final = "index.html"
DATA: Final = "data"
_SAMPLES: Final = 2000
Scored = JudgementReport | RetrievalReport | ContestReport


@dataclass(frozen=True)
class ReportSummary:
    """What was written."""

    page: Path
    refused: Mapping[str, str]
    """Runs that could not be read or scored, and why."""
    warnings: Sequence[str]


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
    paths, ratings = split_runs_and_ratings(runs, labels)
    origins = origins_of(paths)
    skipped = {path: BadLines(bad.skip) for path in paths}
    run_tags = names(paths) if boards else run_names(paths, origins)
    by_name = dict(zip(run_tags, paths, strict=True))
    sources = read_sources(by_name, criteria, origins, skipped, refused)
    scored = None if boards else _score(sources, labels, criteria, seed, bad)
    unscored = scored.refused if scored else {}
    sources = [
        replace(source, debates=()) if source.name in unscored else source for source in sources
    ]

    content = _Content(sources, refused, criteria, labels, seed, bad)
    content.boards = [*boards, *(tournament_board(read_tournament(path)) for path in ratings)]
    if isinstance(scored, JudgementReport):
        content.boards.append(judgement_board(scored))
    elif isinstance(scored, ContestReport):
        content.boards.append(contest_board(scored))
    elif scored is not None:
        content.boards.append(retrieval_board(scored))
    if debates:
        content.add_debates(scored, with_boards=not boards)
    content.add_contests()
    content.add_queries(queries or {}, index)
    if not boards and len(sources) > 1:
        content.add_runs(first=any(map(is_folder_of_runs, runs)))
    ranked: set[str] = set()
    for board in content.boards:
        ranked.update(board.scores)
    content.add_files(ratings, ranked if scored else ())
    content.add_warnings(skipped, ranked, {path.parent for path in ratings})
    page = content.write(out, title or "touche-rad report")
    return ReportSummary(page, {**refused, **unscored}, content.warnings)


@dataclass
class _Content:
    """Collects the boards and the data of a report."""

    sources: Sequence[Source]
    refused: dict[str, str]
    criteria: Criteria
    labels: Path | None
    seed: int
    bad: BadLines
    boards: list[Board] = field(default_factory=list)
    browsers: list[tuple[str, str, str]] = field(default_factory=list)
    indexes: list[tuple[str, str]] = field(default_factory=list)
    """Id and JSON of the data that the page reads at once."""
    parts: list[tuple[str, str]] = field(default_factory=list)
    """Name and JSON of the data that is read when it is needed."""
    summary: list[str] = field(default_factory=list)
    files: list[tuple[str, str, str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add_debates(self, scored: Scored | None, *, with_boards: bool) -> None:
        """Add the debates of the shared task, and boards of their verdicts and words."""
        all_topics = topics(debates_of(self.sources, self.labels))
        if not all_topics:
            return
        conversations = [debate for topic in all_topics for debate in topic.conversations]
        if with_boards:
            self._add_boards(all_topics, conversations, with_rates=scored is None)
        flagged = warning((debate.id or "?", debate.turns) for debate in conversations)
        if flagged and self.boards:
            self.boards[0].warnings.append(flagged)
        index, parts = browser(
            all_topics,
            [{"name": source.name, "kind": source.kind.value} for source in self.sources],
            self.criteria,
        )
        self.browsers.append(("debates", "Debates", _DEBATES))
        self.indexes.append(("data-debates", index))
        self.parts += [(f"d{number}", part) for number, part in enumerate(parts)]

        turns_of: dict[tuple[str, str], int] = {}
        for topic in all_topics:
            for debate in topic.conversations:
                turns_of[topic.claim, repr(debate.turns)] = len(debate.turns)
        if isinstance(scored, JudgementReport):
            labelled = count_of(scored.debates, "labelled debate")
            self.summary.append(f"{labelled}, {count_of(scored.turns, 'turn')}")
        if not isinstance(scored, JudgementReport) or len(turns_of) != scored.debates:
            noun = "different debate" if len(self.sources) > 1 else "debate"
            turns = count_of(sum(turns_of.values()), "turn")
            self.summary.append(f"{count_of(len(turns_of), noun)}, {turns}")

    def _add_boards(
        self,
        all_topics: Sequence[ClaimTopic],
        conversations: Sequence[Conversation],
        *,
        with_rates: bool,
    ) -> None:
        judges = {source.name: source.origin.plugin("judge") for source in self.sources}
        lost = [source.debates.count(LOST) for source in self.sources]
        rated = None
        if with_rates:
            rated = rate_board(
                all_topics, judges, lost, self.criteria, samples=_SAMPLES, seed=self.seed
            )
        if rated is not None:
            rated.warnings.extend(without_model(source.path for source in self.sources))
            self.boards.append(rated)
        elif not self.boards:
            self.boards.append(Board("Responses", ["These runs contain no verdicts."]))
        by_turn = turn_plot(conversations, list(judges), self.criteria)
        if by_turn:
            self.boards[-1].plots.append(by_turn)
        self.boards[-1].plots.append(_length_plot(conversations, list(judges)))
        costs = cost_board({source.name: source.path for source in self.sources})
        if costs:
            self.boards.append(costs)

    def add_contests(self) -> None:
        """Add whole debates, with the verdicts of panels if there are any."""
        template = "report/contest.html.jinja"
        fragments = []
        sections = contest_sections(self.sources, self.labels, self.bad)
        for number, section in enumerate(sections, 1):
            html = render_fragment(template, debate=section, id=f"w{number}")
            fragments.append((section.entry, html))
        if fragments:
            self._add_fragments("wholes", "Whole debates", _WHOLES, fragments)
            self.summary.append(count_of(len(fragments), "whole debate"))

    def add_queries(self, texts: Mapping[str, str], index: str | None) -> None:
        """Add the rankings of TREC runs by query."""
        fragments = []
        queries = queries_of(self.sources, texts, index, self.labels, self.bad)
        for number, query in enumerate(queries, 1):
            html = render_fragment("report/ranking.html.jinja", query=query, id=f"q{number}")
            fragments.append(({"id": query.id, "motion": query.text or query.id}, html))
        if fragments:
            self._add_fragments("queries", "Queries", _QUERIES, fragments)
            self.summary.append(count_of(len(fragments), "query", "queries"))

    def _add_fragments(
        self, name: str, heading: str, about: str, fragments: Sequence[tuple[dict[str, Any], str]]
    ) -> None:
        """Add a browser of HTML fragments, with an entry for each to list and filter it."""
        entries: list[dict[str, Any]] = []
        part: list[str] = []
        count = 0
        for entry, html in fragments:
            entries.append({**entry, "part": count, "place": len(part)})
            part.append(html)
            if sum(map(len, part)) > PART_LETTERS:
                self.parts.append((f"{name[0]}{count}", to_json(part)))
                part = []
                count += 1
        self.parts.append((f"{name[0]}{count}", to_json(part)))
        self.browsers.append((name, heading, about))
        self.indexes.append((f"data-{name}", to_json({"contests": entries})))

    def add_runs(self, *, first: bool) -> None:
        """Add a table of the runs, newest first."""
        scores: dict[str, str] = {}
        for board in self.boards:
            scores |= board.scores
        heads = ["run", "finished", "kind", "debater", "judge", "debates", "fallbacks", "score"]
        rows = []
        for source in self.sources:
            origin = source.origin
            finished = str(origin.status.get("finished") or "")[:16].replace("T", " ")
            units = source.debates or source.contests or source.judgements
            row = [
                source.name,
                finished,
                source.kind.value,
                origin.plugin("debater"),
                origin.plugin("judge"),
                str(len(units) or ""),
                origin.fallbacks or ("0" if origin.status else ""),
                scores.get(source.name, ""),
            ]
            rows.append([text or NONE for text in row])
        for name in self.refused:
            row = [name, NONE, "cannot be read"]
            rows.append(row + [NONE] * (len(heads) - len(row)))
        rows.sort(key=lambda row: row[1], reverse=True)
        board = Board("Runs", [], _RUNS, [BoardTable("Runs", heads, rows)])
        self.boards.insert(0 if first else len(self.boards), board)

    def add_files(self, ratings: Sequence[Path], ranked: Collection[str]) -> None:
        """Add the input files with their digests, and count them in the summary."""
        for source in self.sources:
            self.files.append((source.name, source.path.name, source.kind.value, source.sha256))
        for path in ratings:
            name = path.parent.name or path.name
            self.files.append((name, path.name, "a tournament", sha256_of(path)))
        if self.labels is not None:
            kind = kind_of(self.labels).value
            if is_public(self.labels):
                self.files.append(("truth", str(self.labels), kind, ""))
            else:
                self.files.append(("truth", self.labels.name, kind, sha256_of(self.labels)))

        folders = {path.parent for path in ratings}
        runs = [source.name for source in self.sources if source.path.parent not in folders]
        states = [count_of(len(runs), "run")]
        if ranked:
            scored = sum(name in ranked for name in runs)
            states = [
                count_of(scored, "run scored", "runs scored"),
                f"{len(runs) - scored} not scored",
            ]
        states += [f"{len(self.refused)} not read", count_of(len(ratings), "tournament")]
        states = [state for state in states if not state.startswith("0 ")]
        summary = ", ".join(states)
        if len(states) > 1:
            summary = f"{len(runs) + len(self.refused) + len(ratings)} files: {summary}"
        self.summary.insert(0, summary)

    def add_warnings(
        self,
        skipped: Mapping[Path, BadLines],
        ranked: Collection[str],
        tournaments: Collection[Path],
    ) -> None:
        """Add warnings about lines, verdicts, fallbacks, and lost debates of unranked runs."""
        for source in self.sources:
            lines = skipped[source.path]
            if lines.count:
                count = count_of(lines.count, "invalid line")
                self._warn(source, f"{count} skipped; the first: {lines.first}")
            origin = source.origin
            # The board of a tournament names the fallbacks of the speeches.
            if source.path.parent in tournaments:
                status = origin.status if source.judgements else {}
                origin = replace(origin, status=status, judged={})
            if origin.fallbacks:
                self._warn(source, f"{origin.fallbacks} are fallbacks or missing")
            outcomes = [judgement.outcome for judgement in source.judgements]
            reasons = [
                outcome.reason
                for outcome in outcomes
                if outcome.decision is not None and outcome.reason
            ]
            if reasons:
                count = f"{len(reasons)} of {len(outcomes)} verdicts"
                self._warn(source, f"{count} are in part; the first: {reasons[0]}")
            lost = source.debates.count(LOST)
            if lost and source.name not in ranked:
                self._warn(source, f"{count_of(lost, 'lost debate')} left out")

    def _warn(self, source: Source, text: str) -> None:
        self.warnings.append(f"{source.name}: {text}")

    def write(self, out: Path, title: str) -> Path:
        """Write one file, or a folder with the parts beside the page."""
        if out.is_file() or (not out.is_dir() and out.suffix.lower() in (".html", ".htm")):
            write_text(out, self._page(title, self.parts))
            return out
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / INDEX, self._page(title, ()))  # first, because it may be refused
        data = out / DATA
        data.mkdir(exist_ok=True)
        for path in data.glob("[dqw][0-9]*.js"):  # of an earlier report
            path.unlink()
        for name, part in self.parts:
            write_text(data / f"{name}.js", f'radPart("{name}",{part});\n')
        return out / INDEX

    def _page(self, title: str, parts: Sequence[tuple[str, str]]) -> str:
        links = [("scores", "Scores")] if self.boards else []
        links += [(name, heading) for name, heading, _ in self.browsers]
        links.append(("sources", "Sources"))
        islands = [(name, Markup(index)) for name, index in self.indexes]
        islands += [(f"part-{name}", Markup(part)) for name, part in parts]
        return render_page(
            "report/report.html.jinja",
            title=title,
            links=links,
            summary=self.summary,
            boards=self.boards,
            browsers=self.browsers,
            sources=self.files,
            refused=self.refused,
            warnings=self.warnings,
            seed=self.seed,
            islands=islands,
            scripts=[read_asset(SCRIPT)],
            styles=[read_asset("report/report.css")],
            policy={} if parts or not self.parts else {"script-src": "'self'"},
        )


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
