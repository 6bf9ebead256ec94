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
from touche_rad.report._conversations import ClaimTopic, topics
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
    origins, skipped = origins_of(paths), {path: BadLines(bad.skip) for path in paths}
    named = names(paths) if boards else run_names(paths, origins)
    by_name = dict(zip(named, paths, strict=True))
    sources = read_sources(by_name, criteria, origins, skipped, refused)
    scored = None if boards else _score(sources, labels, criteria, seed, bad)
    unscored = scored.refused if scored else {}
    sources = [replace(one, debates=()) if one.name in unscored else one for one in sources]
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
    ranked = [name for board in content.boards for name in board.scores if scored]
    content.add_files(ratings, ranked)
    content.add_warnings(skipped, {path.parent for path in ratings})
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
        if with_boards:
            self._add_boards(all_topics, with_rates=scored is None)
        flagged = warning(
            (one.id or "?", one.turns) for topic in all_topics for one in topic.conversations
        )
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
        every = ((topic.claim, one.turns) for topic in all_topics for one in topic.conversations)
        distinct = {(claim, repr(turns)): len(turns) for claim, turns in every}
        numbers = [("different " * (len(self.sources) > 1), len(distinct), sum(distinct.values()))]
        if isinstance(scored, JudgementReport):
            numbers.insert(0, ("labelled ", scored.debates, scored.turns))
        for which, debates, turns in numbers[: 1 + (len(distinct) != numbers[0][1])]:
            self.summary.append(f"{count_of(debates, f'{which}debate')}, {count_of(turns, 'turn')}")

    def _add_boards(self, all_topics: Sequence[ClaimTopic], *, with_rates: bool) -> None:
        judges = {source.name: source.origin.plugin("judge") for source in self.sources}
        run_names = list(judges)
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
        by_turn = turn_plot(all_topics, run_names, self.criteria)
        self.boards[-1].plots += [by_turn] if by_turn else []
        self.boards[-1].plots.append(_length_plot(all_topics, run_names))
        table = cost_board({run.name: run.path for run in self.sources})
        if table:
            self.boards.append(table)

    def add_contests(self) -> None:
        """Add whole debates, with the verdicts of panels if there are any."""
        sections = contest_sections(self.sources, self.labels, self.bad)
        pairs = [(one.entry, one) for one in sections]
        self._add_fragments("wholes", "Whole debates", _WHOLES, "contest", pairs)
        self.summary += [count_of(len(pairs), "whole debate")] * bool(pairs)

    def add_queries(self, texts: Mapping[str, str], index: str | None) -> None:
        """Add the rankings of TREC runs by query."""
        found = list(queries_of(self.sources, texts, index, self.labels, self.bad))
        pairs = [({"id": one.id, "motion": one.text or one.id}, one) for one in found]
        self._add_fragments("queries", "Queries", _QUERIES, "ranking", pairs)
        self.summary += [count_of(len(pairs), "query", "queries")] * bool(pairs)

    def _add_fragments(
        self,
        name: str,
        heading: str,
        about: str,
        template: str,
        pairs: Sequence[tuple[dict[str, Any], object]],
    ) -> None:
        """Add a browser of fragments, with an entry for each to list and filter it."""
        entries: list[dict[str, Any]] = []
        part: list[str] = []
        count, letter = 0, name[0]
        for number, (entry, one) in enumerate(pairs, 1):
            html = render_fragment(f"report/{template}.html.jinja", one=one, id=f"{letter}{number}")
            entries.append({**entry, "part": count, "place": len(part)})
            part.append(html)
            if sum(map(len, part)) > PART_LETTERS:
                self.parts.append((f"{letter}{count}", to_json(part)))
                part, count = [], count + 1
        if entries:
            self.parts.append((f"{letter}{count}", to_json(part)))
            self.browsers.append((name, heading, about))
            self.indexes.append((f"data-{name}", to_json({"contests": entries})))

    def add_runs(self, *, first: bool) -> None:
        """Add a table of the runs, newest first."""
        scores = {name: text for board in self.boards for name, text in board.scores.items()}
        rows = []
        for one in self.sources:
            finished = str(one.origin.status.get("finished") or "")[:16].replace("T", " ")
            units = one.debates or one.contests or one.judgements
            made = [one.origin.plugin(kind) or NONE for kind in ("debater", "judge")]
            fallbacks = one.origin.fallbacks or ("0" if one.origin.status else NONE)
            numbers = [str(len(units) or NONE), fallbacks, scores.get(one.name, NONE)]
            rows.append([one.name, finished or NONE, one.kind.value, *made, *numbers])
        rows += [[name, NONE, "cannot be read", *[NONE] * 5] for name in self.refused]
        rows.sort(key=lambda row: row[1], reverse=True)
        heads = ["run", "finished", "kind", "debater", "judge", "debates", "fallbacks", "score"]
        board = Board("Runs", [], _RUNS, [BoardTable("Runs", heads, rows)])
        self.boards.insert(0 if first else len(self.boards), board)

    def add_files(self, ratings: Sequence[Path], ranked: Collection[str]) -> None:
        """Add the input files with their digests."""
        self.files = [(one.name, one.path.name, one.kind.value, one.sha256) for one in self.sources]
        self.files += [
            (path.parent.name or path.name, path.name, "a tournament", sha256_of(path))
            for path in ratings
        ]
        if self.labels is not None:
            public = is_public(self.labels)
            name, digest = (
                (str(self.labels), "") if public else (self.labels.name, sha256_of(self.labels))
            )
            self.files.append(("truth", name, kind_of(self.labels).value, digest))
        folders = {path.parent for path in ratings}
        runs = [one.name for one in self.sources if one.path.parent not in folders]
        number = sum(name in ranked for name in runs)
        states = [count_of(number, "run scored", "runs scored"), f"{len(runs) - number} not scored"]
        states = states if ranked else [count_of(len(runs), "run")]
        states += [f"{len(self.refused)} not read", count_of(len(ratings), "tournament")]
        states = [one for one in states if one[0] != "0"]
        total = f"{len(runs) + len(self.refused) + len(ratings)} files: " * (len(states) > 1)
        self.summary.insert(0, total + ", ".join(states))

    def add_warnings(self, skipped: Mapping[Path, BadLines], rated: Collection[Path]) -> None:
        """Add warnings about lines, verdicts, fallbacks, and lost debates of unranked runs."""
        ranked = {name for board in self.boards for name in board.scores}
        for one in self.sources:
            own, lost = skipped[one.path], one.debates.count(LOST) * (one.name not in ranked)
            origin, verdicts = one.origin, [of.outcome for of in one.judgements]
            if one.path.parent in rated:  # the board names the fallbacks of the speeches
                origin = replace(origin, status=origin.status if verdicts else {}, judged={})
            reasons = [of.reason for of in verdicts if of.decision is not None and of.reason]
            in_part = f"{len(reasons)} of {len(verdicts)} verdicts are in part"
            kinds = {
                f"{count_of(own.count, 'invalid line')} skipped; the first: {own.first}": own.count,
                f"{origin.fallbacks} are fallbacks or missing": len(origin.fallbacks),
                f"{in_part}; the first: {''.join(reasons[:1])}": len(reasons),
                f"{count_of(lost, 'lost debate')} left out": lost,
            }
            self.warnings += [f"{one.name}: {text}" for text, number in kinds.items() if number]

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
        links = [
            *([("scores", "Scores")] if self.boards else []),
            *((name, heading) for name, heading, _ in self.browsers),
            ("sources", "Sources"),
        ]
        data = [(f"part-{name}", Markup(part)) for name, part in parts]
        indexes = [(name, Markup(index)) for name, index in self.indexes]
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
            islands=[*indexes, *data],
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
_TRUTHS: Final = {Kind.QRELS: Kind.RUN, Kind.CONTESTS: Kind.OUTCOMES}
_NEEDED: Final = {Kind.RUN: "qrels", Kind.OUTCOMES: "contests or debates"}


def _score(
    sources: Sequence[Source], labels: Path | None, criteria: Criteria, seed: int, bad: BadLines
) -> Scored | None:
    if labels is None:
        return None
    given = kind_of(labels)
    kind = _TRUTHS.get(given, Kind.EVALUATIONS)
    if given in files.DEBATES and any(source.judgements for source in sources):
        kind = Kind.OUTCOMES
    fitting = {source.name: source.path for source in sources if source.kind is kind}
    if not fitting:
        shows_labels = any(one.debates if given is Kind.LABELS else one.contests for one in sources)
        if sources and not shows_labels:
            needs = {one.kind: _NEEDED.get(one.kind, "labels") for one in sources}
            expected = ", ".join(f"{kind} needs {needed}" for kind, needed in needs.items())
            raise UserError(f"--labels {labels} contains {given}: {expected}")
        return None
    paths, tags = list(fitting.values()), list(fitting)
    if kind is Kind.OUTCOMES:
        return score_contests(paths, labels, seed=seed, bad=bad, tags=tags)
    return score(paths, labels, criteria=criteria, seed=seed, bad=bad, tags=tags)


def _length_plot(all_topics: Sequence[ClaimTopic], names: Sequence[str]) -> Markup:
    """Plot the words per response: the median and the middle 90 % of each run."""
    lengths: dict[str, list[int]] = {}
    for one in (one for topic in all_topics for one in topic.conversations):
        counts = [count_words(turn.response.content) for turn in one.turns if turn.response]
        for run in one.runs if counts else ():
            lengths.setdefault(names[run], []).extend(counts)
    runs_by_lengths: dict[tuple[int, ...], list[str]] = {}
    for name, counts in lengths.items():
        runs_by_lengths.setdefault(tuple(sorted(counts)), []).append(name)
    rows = []
    for every, runs in runs_by_lengths.items():
        name, cut = runs[0] if len(runs) == 1 else f"{len(runs)} runs", len(every) // 20
        rows.append(Dot(name, every[len(every) // 2], every[cut], every[-1 - cut]))
    return dot_plot(
        "Words per response: median, and the middle 90 %",
        rows,
        [("limit", 60.0)],
        digits=0,
        axis=(0.0,),
    )
