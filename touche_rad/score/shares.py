"""The shares of yes of runs without labels: what their judge says of the responses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from touche_rad import files
from touche_rad.criteria import Criteria, Unit
from touche_rad.debate import Debate, Verdicts
from touche_rad.errors import InputError
from touche_rad.files.criteria import criteria_of
from touche_rad.records import FrozenRecord
from touche_rad.samples import SAMPLES
from touche_rad.score.cautions import (
    different_judges,
    unknown_judge,
    without_model,
    without_rank,
)
from touche_rad.score.confusion import missing_answer
from touche_rad.score.conversations import (
    ClaimTopic,
    DebateOfRun,
    absent_topics,
    content_of,
    sorted_topics,
)
from touche_rad.score.evaluations import read_evaluated, read_judged
from touche_rad.score.findings import OTHER_ORDER
from touche_rad.score.inputs import read_inputs
from touche_rad.score.naming import baseline_names, each_run, named
from touche_rad.score.rates import (
    COUNTED,
    DEBATES,
    NOT_IN_INPUT,
    OTHER_DEBATES,
    answers_name,
    categories_in_words,
    count_verdicts,
    describe_scales,
    measure_yes,
    own_order,
)
from touche_rad.score.reports import SHORT_INTERVAL, Report, rank_notes
from touche_rad.score.result import MEAN, MISSING_OR_LOST, RunFault
from touche_rad.score.significance import Figures, Floats, rank, with_intervals
from touche_rad.score.tables import (
    INTERVAL,
    Columns,
    Notes,
    Part,
    Table,
    table,
)
from touche_rad.score.units import Row, turn_rows
from touche_rad.score.validation import check
from touche_rad.score.words import faults_in_words, number

_CORRECTED: Columns = {
    "{maxim}": "criterion",
    "{judge_yes:.3f}": "judge",
    "{yes:.3f}": "people",
    SHORT_INTERVAL: INTERVAL,
    "{f1:.3f}": "F1",
    "[{f1_low:.3f}, {f1_high:.3f}]": INTERVAL,
}


class YesRow(FrozenRecord):
    """The share of yes of a run on one criterion, or the mean of the criteria."""

    run: str
    maxim: str
    yes: float
    low: float | None
    high: float | None
    unsettled: int | None = None
    """Turns on which people disagree and that have no label; they are left out."""
    judge_yes: float | None = None
    """What the judge says, where people's answers are estimated from it and few labels."""
    f1: float | None = None
    """The F1 that the judge would have if all turns were labelled; None of scales, categories."""
    f1_low: float | None = None
    f1_high: float | None = None


class ShareReport(Report):
    """Evaluations without labels."""

    kind: Literal["shares"] = "shares"
    truth: str = ""
    claims: int
    debates: Mapping[str, str] = {}
    """How many of the debates each run has."""
    turns: Mapping[str, int] = {}
    """How many turns of each run count, with those that are missing or lost."""
    labelled: Mapping[str, int] = {}
    """How many of them people labelled on some criterion."""
    without_missing: Mapping[str, float] = {}
    """The mean of each run over the debates that it has: neither missing nor lost."""
    input_of_runs: str = ""
    """The file with the claims that each run must have."""
    judges: str = ""
    """Whose verdicts they are, if several judges gave them."""
    rows: tuple[YesRow, ...]
    notes: tuple[str, ...] = ()
    """Missing and lost debates and verdicts, and a judge without a language model."""
    not_ranked: str
    """Why the runs have no ranks; empty if one judge gave verdicts on different debates."""
    is_corrected: bool = False
    """Whether people's answers to all turns are estimated from verdicts."""
    criteria: Criteria = Field(exclude=True, repr=False)
    verdicts: Callable[[], Iterable[Row]] = Field(tuple, exclude=True, repr=False)
    """Returns a row for each verdict that counts."""
    problems_of_runs: tuple[RunFault, ...] = Field((), exclude=True)

    def faults(self) -> Iterator[RunFault]:
        """Yield what each run lacks."""
        return iter(self.problems_of_runs)

    def _turn_rows(self) -> Iterator[Row]:
        yield from self.verdicts()

    @property
    def measure(self) -> str:
        """What the mean is, and whose answers it is of, if there are people's, too."""
        estimated = "estimated " if self.is_corrected else ""
        return estimated + answers_name(self.criteria) + (" of people" if self.truth else "")

    def sentences(self) -> list[str]:
        """Say what share of yes the first run has, and from which others it differs."""
        means = {row.run: row for row in self.rows if row.maxim == MEAN}
        what = self.measure
        if self.not_ranked:
            reason = f"Not ranked: {self.not_ranked}."
            shares = [f"{row.run} {number(means[row.run].yes)}" for row in self.ranking if means]
            return [reason, f"{what.capitalize()}: {', '.join(shares)}."] if means else [reason]
        kind = "debaters: the runs have different responses" if self.truth else ""
        return self._in_words(means, "yes", what, MEAN, "claims", self.claims, kind)

    def parts(self) -> Iterator[Part]:
        """Yield the shares of one run by criterion, or those of several by run."""
        yield self.sentences()
        if len(self.runs) != 1:
            yield self.board()
        for run in self.runs:
            rows = [row for row in self.rows if row.run == run]
            counts = ", ".join(f"{of_runs[run]} {what}" for what, of_runs in self.counts.items())
            if self.is_corrected:
                yield [f"{run}: {counts}"]
                yield table(_CORRECTED, rows)
            elif len(self.runs) == 1:
                columns = {"{maxim}": counts, "{yes:.3f}": self.measure, SHORT_INTERVAL: INTERVAL}
                yield table(columns, rows)
        yield from self.pair_table()
        yield Notes([*rank_notes(self), self.source, self.drawn("claims")])
        yield self.notes

    @property
    def counts(self) -> Mapping[str, Mapping[str, object]]:
        """What the measures of each run are of, as far as it is known."""
        counts = {"debates": self.debates, "labelled": self.labelled, "turns": self.turns}
        return {what: of_runs for what, of_runs in counts.items() if of_runs}

    @property
    def source(self) -> str:
        """Where the answers are from."""
        text = self.judges or f"missing verdicts count as {missing_answer(self.criteria)}"
        if self.debates and not self.input_of_runs:
            text += (
                "; score --debates CLAIMS counts all missing debates, and check RUN --input CLAIMS "
                "names them"
            )
        if self.truth:
            text = f"answers of people: {self.truth}"
        if self.is_corrected:
            text += (
                "; where there are none, estimated from the verdicts of the runs' judges: right "
                "only if the labelled turns are a random sample; F1 is the judge's (–: F1 is of "
                "answers yes or no, and needs a label where it says yes and one where it says no); "
                "intervals of single criteria and of F1 are Wilson's with Student's t over "
                "debates, not from the bootstrap"
            )
            if categories_in_words(self.criteria):
                text += "; each category is estimated alone, so the shares need not add up to 1"
        return text + describe_scales(self.criteria)

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per run, best first, with its share on each criterion."""
        fields = {"": "yes", "_low": "low", "_high": "high"}
        if self.truth:
            fields["_unsettled"] = "unsettled"
        if self.is_corrected:
            for name in ("judge_yes", "f1", "f1_low", "f1_high"):
                fields[f"_{name}"] = name
        return self._records("maxim", MEAN, fields, self.counts)

    def board(self) -> Table:
        """Return the table of the runs, with the intervals of the criteria if there is room."""
        columns = {criterion.key: criterion.column for criterion in self.criteria}
        maxims = dict.fromkeys(row.maxim for row in self.rows)
        return self.board_of(
            [columns.get(maxim, maxim) for maxim in maxims], "{yes:.3f}", self.counts
        )


def score_shares(
    runs: Sequence[Path],
    *,
    criteria: Criteria | None = None,
    compare: bool = False,
    samples: int = SAMPLES,
    seed: int = 0,
    baselines: Sequence[Path] = (),
    bad: files.BadLines | None = None,
    source: Path | None = None,
) -> ShareReport:
    """Return the shares of yes of evaluations, counted as in the report.

    `source` is the input of the runs: their claims, or the debates with them.

    Runs are ranked if one judge gave their verdicts on different debates.
    """
    criteria = criteria_of(criteria, *runs)
    paths = named(runs)
    refused: dict[str, str] = {}

    def read(tag: str, path: Path) -> list[tuple[Debate, tuple[Verdicts, ...]]]:
        # Refuses a file without verdicts, before its bad lines.
        read_evaluated(tag, path, criteria, files.BadLines(skip=True))
        debates = list(read_judged(path, criteria, bad or files.BadLines()))
        refuse_without_texts(path, debates)
        return debates

    debates_of_runs = each_run(paths, read, refused)
    debates, lost = present_debates(debates_of_runs.values(), criteria.unit)
    return shares_of_debates(
        {tag: paths[tag] for tag in debates_of_runs},
        debates,
        lost,
        criteria,
        samples=samples,
        seed=seed,
        baselines=baseline_names(baselines, paths),
        refused=refused,
        compare=compare,
        source=source,
    )


def lacks_texts(debates: Sequence[tuple[Debate, Sequence[Verdicts]]]) -> bool:
    """Whether there are verdicts, but none of the debates that they are on."""
    return any(verdicts for _, verdicts in debates) and not any(
        debate.turns for debate, _ in debates
    )


def refuse_without_texts(path: Path, debates: Sequence[tuple[Debate, Sequence[Verdicts]]]) -> None:
    """Refuse verdicts without their debates: only labels tell by position which these are."""
    if lacks_texts(debates):
        raise InputError(
            path,
            "expected the debates of the verdicts (simulation.userTurns), got verdicts only: "
            "labels match them by position, or judge again",
        )


def present_debates(
    debates_of_runs: Iterable[Sequence[tuple[Debate, Sequence[Verdicts]]]], unit: Unit
) -> tuple[list[DebateOfRun], list[int]]:
    """Return the debates of all runs, and how many each run lost: they have no turn."""
    debates: list[DebateOfRun] = []
    lost: list[int] = []
    for run, pairs in enumerate(debates_of_runs):
        lost.append(0)
        for place, (debate, verdicts) in enumerate(pairs, 1):
            if debate.turns:
                verdicts = verdicts or ({},)
                debates.append(DebateOfRun(run, debate, verdicts, unit=unit, line=place))
            else:
                lost[-1] += 1
    return debates, lost


def in_other_order(runs: Mapping[str, Path], source: Path | None) -> list[RunFault]:
    """Return a fault for each run whose debates are not in the order of the input."""
    return [
        RunFault(tag, 1, OTHER_ORDER)
        for tag, path in runs.items()
        if source and OTHER_ORDER in check(path, source=source).faults
    ]


def shares_of_debates(
    runs: Mapping[str, Path],
    debates: Sequence[DebateOfRun],
    lost: Sequence[int],
    criteria: Criteria,
    *,
    samples: int,
    seed: int,
    baselines: Sequence[str],
    compare: bool = False,
    refused: Mapping[str, str] = MappingProxyType({}),
    source: Path | None,
) -> ShareReport:
    """Return the shares of yes of those of the runs that have verdicts.

    Args:
        runs: The files of the runs by name.
        debates: The debates of all runs.
        lost: How many debates each run lost.
        criteria: What the verdicts are on.
        samples: Number of bootstrap samples of claims.
        seed: Random seed of the bootstrap.
        baselines: The names of the runs that are baselines.
        compare: Whether the terminal shows the comparisons.
        refused: The runs that cannot be read, and why.
        source: The claims that each run must have, or debates with them.
    """
    tags = list(runs)
    others: Mapping[int, int] = {}
    inputs: Sequence[Debate] = ()
    if source:
        of_runs = Counter(of_run.run for of_run in debates)
        inputs = read_inputs(source, files.BadLines())
        debates, lost = debates_of_input(debates, inputs, len(tags))
        others = of_runs - Counter(of_run.run for of_run in debates)
    # Runs without verdicts, which a report may have, are compared with none.
    judged = {debate.run for debate in debates if debate.verdicts}
    unjudged = {debate.run for debate in debates} - judged
    lost = [0 if run in unjudged else number for run, number in enumerate(lost)]
    all_topics = sorted_topics([debate for debate in debates if debate.run in judged], tags)
    counts, sizes, problems = count_verdicts(all_topics, tags, lost, criteria)
    for run, number_of_others in others.items():
        problems[tags[run], NOT_IN_INPUT] = number_of_others
    figures = {}
    claims = 0
    for at, tag in enumerate(tags):
        of_run = counts[:, at]
        expected = of_run[:, 0, 1]
        counted = of_run[expected > 0]
        if len(counted):
            in_order = of_run[own_order(all_topics, at, expected)]
            figures[tag] = with_intervals(
                measure_yes(counted[:, None], criteria, samples, seed),
                measure_yes(in_order[:, None], criteria, samples, seed),
            )
            claims = max(claims, 0 if problems[tag, OTHER_DEBATES] else len(counted))

    files_of_runs = {tag: runs[tag] for tag in figures}
    paths = list(files_of_runs.values())
    not_ranked = different_judges(paths)
    of_files = without_rank(files_of_runs)
    faults = [*of_files, *in_other_order(files_of_runs, source)]
    # A run without a rank may have the responses of another one.
    if len(judged) > 1 + len(of_files) and not (
        not_ranked or any(len(topic.conversations) > 1 for topic in all_topics)
    ):
        not_ranked = "the runs have no claim in common"
        if any(len(topic.runs) > 1 for topic in all_topics):
            not_ranked = "these are verdicts on the same debates; labels tell which are right"
    return share_report(
        figures,
        claims,
        not_ranked=not_ranked,
        baselines=[tag for tag in baselines if tag in figures],
        criteria=criteria,
        verdicts=lambda: _rows_that_count(
            tags, all_topics, absent_topics(all_topics, inputs), counts[..., 0, 1], criteria
        ),
        input_of_runs=str(source or ""),
        problems=problems,
        problems_of_runs=faults,
        apart=[fault.run for fault in of_files],
        notes=[
            *faults_in_words(faults),
            *without_model(paths),
            *([] if not_ranked else unknown_judge(paths)),
            *categories_in_words(criteria),
        ],
        compare=compare,
        refused=refused,
        samples=samples,
        seed=seed,
        **sizes,
    )


def _rows_that_count(
    names: Sequence[str],
    topics: Sequence[ClaimTopic],
    absent: Sequence[ClaimTopic],
    expected: Floats,
    criteria: Criteria,
) -> Iterator[Row]:
    """Yield the rows of single verdicts whose mean is that of the table.

    A debate has one name in all runs, also in one that lost it.

    Args:
        names: The names of the runs.
        topics: The claims with their debates.
        absent: The claims that the input has, and no run.
        expected: How many turns each run should have, by claim; after the topics are debates that
            are lost, and of which no run has the claim.
        criteria: What the verdicts are on.
    """
    all_topics = [*topics, *absent]
    names_of_debates = {topic.name for topic in all_topics}
    free = (name for name in map("debate-{}".format, count(1)) if name not in names_of_debates)
    while len(all_topics) < len(expected):
        all_topics.append(ClaimTopic("", name=next(free)))
    for run, name in enumerate(names):
        for topic, of_runs in zip(all_topics, expected, strict=True):
            missing = MISSING_OR_LOST
            verdicts: Mapping[int, Verdicts] = {}
            turns: Sequence[int] = ()
            for conversation in topic.conversations:
                if run in conversation.runs:
                    missing = "no verdict"
                    verdicts = dict(enumerate(conversation.verdicts[run]))
                    turns = conversation.places
            turns_that_count = round(of_runs[run])
            further = range(len(verdicts), len(verdicts) + turns_that_count)
            for turn in [*turns, *further][:turns_that_count]:
                place = {"run": name, "debate": topic.name, "claim": topic.claim, "turn": turn + 1}
                yield from turn_rows(place, verdicts.get(turn, {}), criteria, missing)


def inputs_of_a_run(debates: Iterable[DebateOfRun], inputs: Iterable[Debate]) -> list[Debate]:
    """Return what one run must have of the debates of all runs.

    These are as many on a claim as the run with most of them has, and one if no run has any.
    """
    count: Counter[tuple[int, str]] = Counter()
    most: Counter[str] = Counter()
    for of_run in debates:
        claim = of_run.debate.subject
        count[of_run.run, claim] += 1
        most[claim] = max(most[claim], count[of_run.run, claim])
    chosen: Counter[str] = Counter()
    of_a_run = []
    for debate in inputs:
        claim = debate.subject
        if chosen[claim] < max(1, most[claim]):
            chosen[claim] += 1
            of_a_run.append(debate)
    return of_a_run


def debates_of_input(
    debates: Sequence[DebateOfRun], inputs: Sequence[Debate], runs: int
) -> tuple[list[DebateOfRun], list[int]]:
    """Return the debates whose claims the input has, and how many of them each run lacks.

    Of a claim, as many debates of a run count as the input has. A copy stays, and is reported
    later; it is in the place of no debate on another claim.
    """
    expected = Counter(debate.subject for debate in inputs)
    contents: defaultdict[tuple[int, str], set[object]] = defaultdict(set)
    lacking = [expected.copy() for _ in range(runs)]
    of_input = []
    for of_run in debates:
        claim = of_run.debate.subject
        of_claim = contents[of_run.run, claim]
        content = content_of(of_run.debate.turns)
        if content in of_claim or len(of_claim) < expected[claim]:
            of_claim.add(content)
            lacking[of_run.run][claim] -= 1
            of_input.append(of_run)
    return of_input, [(+of_claims).total() for of_claims in lacking]


def faults_of_problems(
    problems: Mapping[tuple[str, str], int], without_missing: Mapping[str, float]
) -> Iterator[RunFault]:
    """Yield how often each run has each problem that was counted of its verdicts."""
    for (run, text), times in problems.items():
        if times:
            number_of = f"{text}: {times}"
            if text == DEBATES and run in without_missing:
                number_of += f" ({number(without_missing[run])} without them)"
            yield RunFault(run, int(times), number_of, what=COUNTED[text])


def share_report(
    figures: Figures,
    claims: int,
    *,
    criteria: Criteria,
    baselines: Sequence[str],
    compare: bool,
    problems: Mapping[tuple[str, str], int] = MappingProxyType({}),
    problems_of_runs: Sequence[RunFault] = (),
    apart: Collection[str] = (),
    notes: Sequence[str] = (),
    not_ranked: str = "",
    unsettled: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
    present: Mapping[str, float] = MappingProxyType({}),
    of_judges: Mapping[tuple[str, str], Mapping[str, float | None]] = MappingProxyType({}),
    **fields: Any,
) -> ShareReport:
    """Rank runs by the mean of their answers; categories have none.

    `problems` is how often each run has a problem; runs that are `apart` have no rank. `present` is
    the share of the turns of each run that is in debates that it has: all others are no.
    """
    first, *others = next(iter(figures.values()), (MEAN,))
    if first != MEAN:
        not_ranked = "categories have no order"
    apart = [
        run for run in figures if not_ranked or run in apart or problems.get((run, OTHER_DEBATES))
    ]
    without_missing = {
        run: figures[run][MEAN].value / share
        for run, share in present.items()
        if share and MEAN in figures.get(run, ())
    }
    faults = list(faults_of_problems(problems, without_missing))
    ranking = rank(figures, first, claims, baselines=baselines, others=others, apart=apart)
    rows = []
    for tag, of_run in figures.items():
        for maxim, measured in of_run.items():
            low, high = measured.interval
            # A corrected share may be drawn beyond what a share can be.
            low = low and max(low, 0.0)
            high = high and min(high, 1.0)
            rows.append(
                YesRow(
                    run=tag,
                    maxim=maxim,
                    yes=measured.value,
                    low=low,
                    high=high,
                    # The row may be the share of a category of a criterion.
                    unsettled=unsettled.get(tag, {}).get(maxim.partition(":")[0]),
                    **of_judges.get((tag, maxim), {}),
                )
            )
    return ShareReport(
        runs=tuple(figures),
        claims=claims,
        criteria=criteria,
        baselines=tuple(baselines),
        not_ranked=not_ranked,
        ranking=ranking.runs,
        rows=tuple(rows),
        comparisons=ranking.comparisons,
        shows_pairs=compare,
        figures=figures,
        without_missing=without_missing,
        problems_of_runs=(*faults, *problems_of_runs),
        notes=(*notes, *faults_in_words(faults)),
        **fields,
    )
