"""The reports of scores: a ranked table of several runs, or the details of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from touche_rad.criteria import Criteria
from touche_rad.errors import OptionError
from touche_rad.files.labels import label_value
from touche_rad.lists import unique
from touche_rad.score.confusion import MAIN, TITLES, missing_answer, place_of_score
from touche_rad.score.result import (
    BASELINE,
    COUNTED_OF_KIND,
    MEAN,
    JudgementRow,
    LabelRow,
    OfficialResult,
    Problem,
    ProblemKind,
    RankedRun,
    RetrievalRow,
    RunComparison,
    RunFault,
    rank_text,
)
from touche_rad.score.tables import (
    INTERVAL,
    NONE,
    Columns,
    Notes,
    Part,
    Printed,
    Table,
    cell,
    cells,
    interval_cell,
    table,
)
from touche_rad.score.units import Row, debate_rows
from touche_rad.score.words import (
    between,
    names_of,
    number,
    ranking_in_words,
    too_few,
)

_SHOWN_PROBLEMS: Final = 10
_OFFICIAL_FAULTS: Final = {
    OfficialResult.WRONG: "score wrongly (debates are not in the places of their labels):",
    OfficialResult.REFUSED: "refuse",
}
COMPARISON_COLUMNS: Columns = {
    "{run} – {against}": "runs",
    "{measure}": "measure",
    "{difference:.3f}": "diff.",
    "[{low:.3f}, {high:.3f}]": "95 %",
    "{p:.4f}": "p",
    "{p_holm:.4f}": "p (Holm)",
}
_EXTRA_COLUMNS: Columns = {
    "{macro_f1:.3f}": "macro F1",
    "{accuracy:.3f}": "accuracy",
    "{kappa:.3f}": "kappa",
    "{mcc:.3f}": "MCC",
    "{precision:.3f}": "precision",
    "{recall:.3f}": "recall",
    "{yes_rate:.2f}": "yes",
    "{rmse:.3f}": "RMSE",
    "{spearman:.3f}": "Spearman",
}
_RATES: Columns = {
    "{precision:.3f}": "precision",
    "{recall:.3f}": "recall",
    "{yes_rate:.2f}": "yes",
    "{label_rate:.2f}": "labels",
}
_RUN_COLUMNS: Columns = {**_RATES, **_EXTRA_COLUMNS}
"""The rates come first; a key that is there twice keeps its first place."""
_OF_OTHER_KINDS: Final = ("weighted_kappa", "spearman", "rmse", "value")
_CSV_FIELDS: Final = [
    name
    for name in JudgementRow.model_fields
    if name not in ("run", "maxim", "label_rate", "tp", "fp", "fn", "tn", "confusion")
]
SHORT_INTERVAL: Final = "[{low:.3f}, {high:.3f}]"
RANKS: Final = "≈1: not significantly worse than the first (p (Holm) against it ≥ .05)."
_FAMILIES: Final = (
    "p (Holm): over all comparisons of the measure that ranks with the same run, and over all of "
    "the other measures with it."
)
INTERVAL_AND_P: Final = (
    "An interval is for one comparison, and p (Holm) is corrected for all of them, so p can be "
    "above .05 although the interval excludes 0."
)


class Report(Printed):
    """The fields of every report."""

    kind: str
    truth: str
    runs: tuple[str, ...]
    refused: Mapping[str, str] = {}
    """Runs that could not be scored, and why."""
    baselines: tuple[str, ...] = ()
    """The runs that are baselines."""
    ranking: tuple[RankedRun, ...] = ()
    """The runs and baselines, best first."""
    rows: tuple[Any, ...] = ()
    """The measures of each run."""
    comparisons: tuple[RunComparison, ...] = ()
    figures: Any = Field(None, exclude=True, repr=False)
    """The measures of each run with their bootstrap samples."""
    shows_pairs: bool = Field(True, exclude=True)
    """Whether the terminal shows the comparisons; the first sentence is from them in any case."""
    problems: tuple[Problem, ...] = ()
    samples: int
    seed: int

    def sentences(self) -> list[str]:
        """Say what the best run has, and how it differs from the others and from the baselines."""
        raise NotImplementedError

    def _in_words(
        self,
        rows: Mapping[str, Any],
        field: str,
        what: str,
        measure: str,
        units: str,
        count: int,
        kind: str = "",
    ) -> list[str]:
        """Say it with a field and the interval of each run's row in the measure of the ranking."""
        has_ranks = any(row.rank for row in self.ranking)
        runs: dict[str, float] = {}
        baselines: dict[str, float] = {}
        for row in self.ranking:
            value = getattr(rows[row.run], field)
            if self.is_baseline(row.run):
                baselines[row.run] = value
            elif row.rank or not has_ranks:
                runs[row.run] = value
        if not runs:
            return []
        leader = next(iter(runs))
        limits = between(rows[leader].low, rows[leader].high)
        sentence = f"{leader}: {what} {number(runs[leader])} {limits}".rstrip()
        sentences = too_few(units, count) or ranking_in_words(
            runs, baselines, what, self.comparisons, measure
        )
        verb = "Ranked" if has_ranks else "Compared"
        ranked_as = [f"{verb} as {kind}."] if kind and len(self.runs) > 1 else []
        return [f"{sentence}.", *sentences, *ranked_as]

    def board(self) -> Table:
        """Return the ranked table of the runs."""
        raise NotImplementedError

    def board_of(
        self, measures: Sequence[str], value: str, counts: Mapping[str, Mapping[str, object]]
    ) -> Table:
        """Return the ranked table of measures; the intervals of all but the first need room.

        `counts` is what the measures of each run are of; all but the first need room.
        """
        first, *others = measures
        further = [*list(counts)[1:], *(f"{INTERVAL} of {measure}" for measure in others)]
        lines = []
        for ranked in self.ranking:
            rows = [row for row in self.rows if row.run == ranked.run]
            values = [cell(value, row) for row in rows]
            between = [interval_cell(SHORT_INTERVAL, row) for row in rows]
            numbers = [str(of_runs[ranked.run]) for of_runs in counts.values()]
            head = [self.rank_text(ranked), ranked.run, values[0], between[0], *numbers[:1]]
            lines.append([*head, *values[1:], *numbers[1:], *between[1:]])
        columns = ["rank", "run", first, INTERVAL, *list(counts)[:1], *others, *further]
        return Table(columns, lines, name=1, optional=len(further))

    def rank_text(self, ranked: RankedRun) -> str:
        """Return the rank of a run; a star for a baseline, a dash with too few debates."""
        if self.is_baseline(ranked.run):
            return "*"
        return rank_text(ranked.rank, ranked.place)

    def _records(
        self,
        key: str,
        measure: str,
        fields: Mapping[str, str],
        counts: Mapping[str, Mapping[str, object]],
    ) -> Iterator[Mapping[str, Any]]:
        """Yield a row per run, best first; its p is against the first run.

        Args:
            key: The field of a row with what it measures.
            measure: The one that ranks.
            fields: The fields of the rows, by what their columns end with.
            counts: Further columns, by run.
        """
        for ranked in self.ranking:
            run = ranked.run
            record: dict[str, Any] = {
                "rank": ranked.rank,
                "run": run,
                "baseline": self.is_baseline(run),
                **{name: of_runs.get(run) for name, of_runs in counts.items()},
                "p_holm": self.p_against(self.first, run, measure),
            }
            for baseline in self.baselines:
                record[f"p_holm_{baseline}"] = self.p_against(baseline, run, measure)
            for row in self.rows:
                if row.run == run:
                    for end, name in fields.items():
                        record[f"{getattr(row, key)}{end}"] = getattr(row, name)
            yield record

    def is_baseline(self, run: str) -> bool:
        """Whether a run is a baseline, which has no rank."""
        return run in (BASELINE, *self.baselines)

    @property
    def first(self) -> str:
        """The first run that is no baseline."""
        return next((row.run for row in self.ranking if not self.is_baseline(row.run)), "")

    @property
    def base(self) -> str:
        """The best of the baselines, from which differences are shown; empty without any."""
        baselines = self.baselines or (BASELINE,)
        return next((row.run for row in self.ranking if row.run in baselines), "")

    def p_against(self, against: str, run: str, measure: str) -> float | None:
        """Return the corrected p of the difference of two runs; None for a run and itself."""
        for row in self.comparisons:
            if row.measure == measure and {row.run, row.against} == {run, against}:
                return row.p_holm
        return None

    def unit_rows(self, per: str) -> Iterator[Row]:
        """Yield a row for each verdict, each debate and criterion, or each query and measure."""
        turns = self._turn_rows()
        if turns is None or per == "query":
            raise OptionError(f"--per {per} is not for {self.kind}: leave it out")
        yield from turns if per == "turn" else debate_rows(turns)

    def _turn_rows(self) -> Iterator[Row] | None:
        """Return a row for each verdict; None if there are none."""
        return None

    def pair_table(self) -> Iterator[Part]:
        """Yield the comparisons, if they are asked for, and what is corrected together."""
        if self.shows_pairs and self.comparisons:
            yield table(COMPARISON_COLUMNS, self.comparisons)
            yield Notes([_FAMILIES, INTERVAL_AND_P])
        elif self.shows_pairs:
            yield Notes(["--pairs: there is nothing to compare"])

    def faults(self) -> Iterator[RunFault]:
        """Yield the problems of each kind that a run has, with the first place."""
        groups: dict[tuple[str, ProblemKind], list[Problem]] = defaultdict(list)
        for problem in self.problems:
            groups[problem.run, problem.kind].append(problem)
        for (run, kind), problems in groups.items():
            first = problems[0]
            numbers = {
                "line": first.line,
                f"{Path(self.truth).name} line": first.debate,
                "turn": first.turn,
            }
            steps = [f"{name} {number}" for name, number in numbers.items() if number]
            if first.maxim:
                steps.append(first.maxim)
            text = f"{', '.join(steps)}: {first.message}" if steps else first.message
            if len(problems) > 1:
                as_no = sum(problem.counted_as_no for problem in problems)
                lost = f", {as_no} verdicts" if as_no else ""
                text = f"{len(problems)} times{lost}; the first: {text}"
            # One fault of the file, as in `check`, however many lines it moves.
            count = 1 if kind is ProblemKind.REORDERED else len(problems)
            yield RunFault(
                run,
                count,
                f"{kind.value}: {text}",
                what=COUNTED_OF_KIND.get(kind, "fault"),
            )

    def warnings(self) -> Iterator[str]:
        """Yield a line for each run and kind of problem."""
        for fault in self.faults():
            yield f"{fault.run}: {fault.text}"

    def _shown_warnings(self) -> Iterator[str]:
        lines = list(self.warnings())
        yield from lines[:_SHOWN_PROBLEMS]
        hidden = lines[_SHOWN_PROBLEMS:]
        if hidden:
            yield f"{len(hidden)} more problems (--json lists all)"

    def drawn(self, what: str) -> str:
        """Say how the intervals are made, by bootstrap samples of debates, claims or queries."""
        return f"95 % intervals from {self.samples} bootstrap samples of {what}, seed {self.seed}"


class JudgementReport(Report):
    """Evaluations scored against labels."""

    kind: Literal["judgements"] = "judgements"
    policy: Literal["no", "strict"]
    """What a missing verdict is: a no, or a reason to refuse the run."""
    matched_by: str | None = None
    """The file whose words match the runs with the labels; None if they are matched by place."""
    without_texts: tuple[str, ...] = ()
    """The runs that have no texts, and are matched by place."""
    official: bool
    """Whether the official scorer accepts every run and gives the same scores."""
    by_official_scorer: Mapping[str, OfficialResult] = Field({}, exclude=True)
    debates: int
    turns: int
    """Turns with a label on some criterion."""
    excluded: int = 0
    """Labelled turns that --exclude left out."""
    label_rows: tuple[LabelRow, ...] = ()
    rows: tuple[JudgementRow, ...]
    lost: Mapping[str, int] = {}
    """Labelled debates without any verdict, by run."""
    criteria: Criteria = Field(exclude=True, repr=False)
    """What the verdicts are on, in the order of the columns."""
    claims: Sequence[str] = Field(exclude=True, repr=False)
    """The claim of each labelled debate; empty if no run says it."""
    labels: Any = Field(exclude=True, repr=False)
    label_lines: Sequence[int] = Field(exclude=True, repr=False)
    """The line of each labelled debate in the labels."""
    scores: Any = Field(exclude=True, repr=False)
    """The labels, and the aligned scores of each run, for the exports."""

    def sentences(self) -> list[str]:
        """Say what the best run has, and how it differs from the others and from the baselines."""
        means = {row.run: row for row in self.rows if row.maxim == MEAN}
        if not any(row.labelled for row in means.values()):
            return ["The labels say nothing about these turns, so no run has a score."]
        words = self._in_words(
            means,
            "value",
            self.measure,
            MEAN,
            "debates",
            self.debates,
            "judges: the runs have verdicts on the same debates",
        )
        if self.policy != "strict" and not self.matched_by:
            words.append(
                "runs are matched to labels by position: whether these are their debates is "
                "unknown (--debates FILE tells it)"
            )
        return words

    def parts(self) -> Iterator[Part]:
        """Yield the result in words, the table of one run or of several, and the method."""
        yield self.sentences()
        if len(self.runs) > 1:
            yield self.board()
        else:
            yield self._by_maxim()
            yield from (table for row, table in self.confusions() if row.run == self.runs[0])
        yield from self.pair_table()
        yield Notes([*rank_notes(self), *self._head()])
        yield [*self._official(), *self._shown_warnings()]

    @property
    def measure(self) -> str:
        """The measure that ranks."""
        different = unique(TITLES[MAIN[criterion.answers.kind]] for criterion in self.criteria)
        if len(different) == 1:
            return f"mean {different[0]}"
        return f"mean of {names_of(different)}"

    def used(self, columns: Columns) -> Columns:
        """Return the columns that have a value."""
        used = {}
        for form, head in columns.items():
            if any(cell(form, row) != NONE for row in self.rows):
                used[form] = head
        return used

    @property
    def rows_by_place(self) -> Mapping[tuple[str, str], JudgementRow]:
        """The measures by run and criterion."""
        return {(row.run, row.maxim): row for row in self.rows}

    def _by_maxim(self) -> Table:
        """Return the measures of the run by criterion, and the one that ranks of the baselines."""
        (run,) = self.runs
        rows = self.rows_by_place
        baselines = [ranked.run for ranked in self.ranking if ranked.run != run]
        columns = self.used(_RUN_COLUMNS)
        heads = ["", "measure", "score", INTERVAL, *baselines, *columns.values()]
        lines = [[MEAN, NONE]]
        for criterion in self.criteria:
            if rows[run, criterion.key].labelled:
                lines.append([criterion.key, TITLES[MAIN[criterion.answers.kind]]])
        if self.criteria.official:
            heads[1:3] = ["F1"]
            lines = [line[:1] for line in lines]
        for line in lines:
            row = rows[run, line[0]]
            line += [cell("{value:.3f}", row), cell(SHORT_INTERVAL, row)]
            line += [cell("{value:.3f}", rows[name, row.maxim]) for name in baselines]
            line += cells(columns, row)
        return Table(heads, lines, optional=max(len(columns) - 4, 0))

    def confusions(self) -> Iterator[tuple[JudgementRow, Table]]:
        """Yield the labels against the answers of each run and criterion, but for yes and no."""
        answers_of = self.criteria.answers_of
        for row in self.rows:
            answers = answers_of.get(row.maxim)
            if answers and answers.kind != "yes-no" and row.labelled:
                heads = [f"{row.maxim}, labels", *answers.names, "no verdict"]
                counts = zip(answers.names, row.confusion, strict=False)
                lines = [[name, *map(str, cells_of_label)] for name, cells_of_label in counts]
                yield row, Table(heads[: len(row.confusion) + 1], lines)

    def _turn_rows(self) -> Iterator[Row]:
        of_other_runs = any(problem.kind is ProblemKind.OTHER_LABELS for problem in self.problems)
        for run in self.runs:
            debates = zip(self.label_lines, self.claims, self.labels, self.scores[run], strict=True)
            for line, claim, *turns in debates:
                # A debate that every run lost counts as no by labels of another run's debate.
                if of_other_runs and not claim:
                    continue
                for turn, (labels, scores) in enumerate(zip(*turns, strict=True), 1):
                    for criterion in self.criteria:
                        key = criterion.key
                        answers = criterion.answers
                        score = scores.get(key)
                        label = labels.get(key)
                        place = place_of_score(criterion, score)
                        yield {
                            "run": run,
                            "debate": line,
                            "claim": claim,
                            "turn": turn,
                            "criterion": key,
                            "score": score if answers.scores else None,
                            "answer": [*answers.names, None][place],
                            "yes": place == 1 if answers.kind == "yes-no" else None,
                            "label": label_value(label, answers),
                            "agree": None if label is None else place == label,
                        }

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per run, best first, with all measures."""
        left_out = _OF_OTHER_KINDS if self.criteria.official else ()
        fields = {f"_{name}": name for name in _CSV_FIELDS if name not in left_out}
        counts = {
            "debates": dict.fromkeys(self.runs, self.debates),
            "turns": dict.fromkeys(self.runs, self.turns),
            "lost_debates": self.lost,
        }
        return self._records("maxim", MEAN, fields, counts)

    def _head(self) -> Iterator[str]:
        without = f", {self.excluded} of them left out" if self.excluded else ""
        debates = "debates"
        if self.debates < len(self.labels):
            debates = f"of {len(self.labels)} debates have labels"
        yield f"{self.truth}: {self.debates} {debates}, {self.turns} labelled turns{without}"
        if self.policy == "strict":
            yield "policy: strict, as in the official scorer"
        else:
            if self.matched_by:
                yield f"runs are matched to labels by id and text with {self.matched_by}"
            if self.without_texts:
                yield f"{names_of(self.without_texts)} has no texts: matched by position"
            yield f"missing verdicts count as {missing_answer(self.criteria)}"
        yield self.drawn("debates")

    def _official(self) -> Iterator[str]:
        """Yield which runs the official scorer does not score in the same way."""
        for result, verb in _OFFICIAL_FAULTS.items():
            runs = [run for run, of_run in self.by_official_scorer.items() if of_run is result]
            if runs:
                yield f"the official scorer would {verb} {', '.join(runs)}"

    def board(self) -> Table:
        """Return the ranked table of the runs."""
        rows = self.rows_by_place
        lost = any(self.lost.values())
        extra = self.used(_EXTRA_COLUMNS)
        lines = []
        for ranked in self.ranking:
            mean = rows[ranked.run, MEAN]
            line = [
                self.rank_text(ranked),
                ranked.run,
                cell("{value:.3f}", mean),
                interval_cell(SHORT_INTERVAL, mean),
            ]
            for key in self.criteria.keys:
                row = rows[ranked.run, key]
                line.append(cell("{value:.3f}", row) if row.labelled else NONE)
            if lost:
                line.append(str(self.lost.get(ranked.run, NONE)))
            lines.append(line + cells(extra, mean))
        columns = ["rank", "run", self.measure.partition(" of ")[0], INTERVAL]
        columns += [criterion.column for criterion in self.criteria]
        if lost:
            columns.append("no debate")
        columns += extra.values()
        return Table(columns, lines, name=1, optional=len(extra))


class RetrievalReport(Report):
    """TREC runs scored against qrels."""

    kind: Literal["retrieval"] = "retrieval"
    measures: tuple[str, ...]
    queries: int
    rows: tuple[RetrievalRow, ...]
    values: Mapping[str, Mapping[str, Mapping[str, float]]] = Field({}, exclude=True, repr=False)
    """The values of each run by measure and query."""

    def unit_rows(self, per: str) -> Iterator[Row]:
        """Yield a row for each query and measure of each run."""
        if per != "query":
            raise OptionError(f"--per {per} is not for TREC runs: --per query is")
        for run, by_measure in self.values.items():
            for measure, by_query in by_measure.items():
                for query, value in by_query.items():
                    yield {"run": run, "query": query, "measure": measure, "value": value}

    def sentences(self) -> list[str]:
        """Say what the best run has, and how it differs from the others and from the baselines."""
        first = self.measures[0]
        rows = {row.run: row for row in self.rows if row.measure == first}
        return self._in_words(rows, "value", first, first, "queries", self.queries)

    def parts(self) -> Iterator[Part]:
        """Yield a ranked table of the runs."""
        yield self.sentences()
        yield self.board()
        yield from self.pair_table()
        queries = f"{self.truth}: {self.queries} queries; a query without results counts as 0"
        yield Notes([*rank_notes(self), queries, self.drawn("queries")])
        yield self._shown_warnings()

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per run, best first."""
        fields = {"": "value", "_low": "low", "_high": "high"}
        return self._records("measure", self.measures[0], fields, {})

    def board(self) -> Table:
        """Return the ranked table of the runs."""
        return self.board_of(self.measures, "{value:.3f}", {})


def rank_notes(report: Report) -> Iterator[str]:
    """Yield what the ranks, the stars and the lost debates of a table mean."""
    if len(report.runs) < 2:
        return
    if any(ranked.rank != ranked.place for ranked in report.ranking):
        yield RANKS
    if {BASELINE, *report.baselines} & {ranked.run for ranked in report.ranking}:
        yield "* baseline, without a rank."
    if isinstance(report, JudgementReport) and any(report.lost.values()):
        yield "no debate: labelled debates that are missing or lost in the run."
