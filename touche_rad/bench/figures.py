"""The figures of a run, from its files only: the debaters' answers and the judges' scores.

The figure of a debater is the mean answer over its judges and the criteria without categories. The
bootstrap draws claims, because the debates on one claim are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import Field

from touche_rad import files
from touche_rad.bench._cells import DebateCell, cells_of, labelled_runs
from touche_rad.bench.plan import PlanFile
from touche_rad.criteria import Criteria
from touche_rad.errors import WorkError
from touche_rad.files.outputs import all_replaced, count_replaced, read_status
from touche_rad.records import FrozenRecord
from touche_rad.runs.fallbacks import ANSWERS
from touche_rad.runs.judging import VERDICTS
from touche_rad.score import JudgementReport, Policy, score_judgements
from touche_rad.score.rates import (
    answer_shares,
    answers_name,
    count_yes,
    measure_yes,
    ranking_places,
    shares,
)
from touche_rad.score.reports import rank_notes
from touche_rad.score.result import MEAN, RunComparison, RunFault
from touche_rad.score.shares import ShareReport, share_report
from touche_rad.score.significance import Floats, with_intervals
from touche_rad.score.tables import Notes, Part, Printed, Table
from touche_rad.score.words import names_of, number
from touche_rad.text import count_words

FORMAT: Final = "touche-rad figures 1"
_ALL_BROKEN: Final = "all verdicts are fallbacks: correct the judges' model, then add --restart"


class DebaterFigures(FrozenRecord):
    """The result of one debater."""

    name: str
    rank: int | None
    """None for a baseline, and for all with too few claims, or with only categories."""
    yes: float
    """The mean of the judges and the criteria, or with only categories the share of the first."""
    low: float | None
    high: float | None
    """95 % interval; None with too few claims."""
    maxims: Mapping[str, float]
    """By criterion, and of categories by category."""
    judges: Mapping[str, float | None]
    """The mean by judge; None if all its verdicts are fallbacks."""
    users: Mapping[str, float]
    seeds: Mapping[str, float]
    responses: int
    words: float
    """Mean number of words per response."""
    fallbacks: int
    """Responses that are fallbacks."""


class Figures(Printed):
    """The figures of a bench, best debater first."""

    format: str = FORMAT
    name: str
    entries: Sequence[tuple[str, str, str]]
    """Name, kind, and plugin with its options and its model."""
    claims: int
    samples: int
    measure: str = "share of yes"
    """What the debaters are ranked by."""
    debaters: Sequence[DebaterFigures] = ()
    comparisons: tuple[RunComparison, ...] = ()
    judges: JudgementReport | None = None
    """The judges' scores on the labelled debates."""
    shares: ShareReport | None = Field(None, exclude=True, repr=False)
    """The debaters' shares of yes, as other runs have them; None without debaters."""
    counted: Sequence[str] = Field((), exclude=True, repr=False)
    """The judges whose mean ranks the debaters."""

    def parts(self) -> Iterator[Part]:
        """Yield the ranking of the debaters, and what the names of the entries mean."""
        if self.shares:
            yield self.shares.sentences()
            yield self.board()
        yield [f"{kind} {name}: {text}" for name, kind, text in self.entries if name != text]
        if self.shares:
            yield Notes(
                [
                    *rank_notes(self.shares),
                    f"{self.name}: {self.claims} claims; {self.shares.source}",
                    self.shares.drawn("claims"),
                ]
            )

    @property
    def not_scored(self) -> list[str]:
        """Which judges have no scores on the labelled debates, and why."""
        refused = self.judges.refused if self.judges else {}
        return [f"not scored: {run}: {error}" for run, error in refused.items()]

    def board(self) -> Table:
        """Return the ranked table with columns of the judges, words and fallbacks."""
        assert self.shares
        table = self.shares.board()
        judges = list(self.debaters[0].judges)
        if len(self.counted) == 1:  # its shares are the means
            judges.remove(self.counted[0])
        end = len(table.heads) - table.optional  # the intervals of the criteria
        rows = []
        for row, debater in zip(table.rows, self.debaters, strict=True):
            by_judge = [number(debater.judges[judge], 3) for judge in judges]
            counts = [f"{debater.words:.1f}", str(debater.fallbacks)]
            rows.append([*row[:end], *by_judge, *counts])
        heads = [*table.heads[:end], *judges, "words", "fallbacks"]
        return Table(heads, rows, name=1, optional=len(heads) - end)


def compute(plan_file: PlanFile, results: Path) -> Figures:
    """Compute all figures from the files of the results and the labels."""
    plan = plan_file.plan
    of_debaters: dict[str, Any] = {"claims": 0}
    if plan_file.debaters:
        of_debaters = _debater_figures(plan_file, results, plan_file.criteria)
    return Figures(
        name=plan.name,
        entries=[
            (entry.name, group.removesuffix("s"), entry.about)
            for group, entries in plan_file.groups.items()
            for entry in entries
        ],
        samples=plan.samples,
        judges=_score_judges(plan_file, results) if plan.labels else None,
        **of_debaters,
    )


def _score_judges(plan_file: PlanFile, results: Path) -> JudgementReport:
    """Score the judges on the labelled debates."""
    runs = labelled_runs(plan_file)
    broken = [run.path for run in runs if _is_broken(results / run.path)]
    judges = {results / run.path: run.entry.name for run in runs if run.path not in broken}
    if not judges:
        raise WorkError(_ALL_BROKEN)
    report = score_judgements(
        list(judges),
        plan_file.data["labels"],
        criteria=plan_file.criteria,
        baselines=[
            path for path, judge in judges.items() if judge in plan_file.plan.pages.baselines
        ],
        policy=Policy(debates=plan_file.data["debates"]),
        compare=False,
        samples=plan_file.plan.samples,
    )
    for error in report.refused.values():
        raise WorkError(error)

    # Without their folders, because the results can be moved.
    def short(text: str) -> str:
        return text.replace(f"{plan_file.folder}/", "").replace(f"{results}/", "")

    problems = tuple(
        problem.replace(run=short(problem.run), message=short(problem.message))
        for problem in report.problems
    )
    return report.replace(
        refused=dict.fromkeys(broken, "all its verdicts are fallbacks"),
        truth=short(report.truth),
        matched_by=short(report.matched_by or ""),
        problems=problems,
    )


def _is_broken(run: Path) -> bool:
    """Whether all verdicts of a run are fallbacks."""
    status = read_status(run)
    return VERDICTS in all_replaced(status.get("fallbacks", ()), status.get("counts", {}))


def _debater_figures(plan_file: PlanFile, results: Path, criteria: Criteria) -> dict[str, Any]:
    """Return the fields of `Figures` on the debaters, best first."""
    plan = plan_file.plan
    claim_texts = [claim.claim for claim in files.read_claims(plan_file.data["claims"])]
    claims = len(claim_texts)
    debaters = [debater.name for debater in plan_file.debaters]
    judges = [judge.name for judge in plan_file.judges]
    users = [user.name for user in plan_file.users]
    seeds = [str(seed) for seed in plan.seeds]
    baselines = [name for name in debaters if name in plan.pages.baselines]

    # Count the responses and the verdicts that are yes, by everything that a cell is made of.
    words: Counter[str] = Counter()
    responses: Counter[str] = Counter()
    fallbacks: Counter[str] = Counter()
    first_messages: dict[str, list[str]] = {}
    sound_judges: set[str] = set()  # with at least one verdict of their own
    measured_answers = answer_shares(criteria)
    axes: tuple[Sequence[object], ...] = (debaters, users, seeds, judges, measured_answers)
    counts = np.zeros((claims, *map(len, axes), 2))
    for run in cells_of(plan_file):
        path = results / run.path
        name = run.entry.name
        if isinstance(run, DebateCell):
            debates = list(files.read_debates(path))
            number = len(debates)
            first_messages[name] = [debate.thesis for debate in debates]
            for debate in debates:
                for turn in debate.turns:
                    if turn.response:
                        responses[name] += 1
                        words[name] += count_words(turn.response.content)
            fallbacks[name] += count_replaced(read_status(path).get("fallbacks", ()))[ANSWERS]
        elif run.of:
            if not _is_broken(path):
                sound_judges.add(name)
            evaluations = files.read_evaluations(path, criteria=criteria)
            counts_of_run = [count_yes(evaluation.turns, criteria) for evaluation in evaluations]
            number = len(counts_of_run)
            place = (
                debaters.index(run.of.entry.name),
                users.index(run.of.user.name),
                plan.seeds.index(run.seed),
                judges.index(name),
            )
            if number == claims:
                counts[(slice(None), *place)] = counts_of_run
        else:
            continue
        if number != claims:
            raise WorkError(f"{path} has {number} debates, and there are {claims} claims")

    # A judge that is a baseline, or has no verdict of its own, does not count.
    sound = sound_judges.difference(plan.pages.baselines)
    counted = [number for number, judge in enumerate(judges) if judge in sound]
    if not counted:
        raise WorkError(_ALL_BROKEN)
    # In the orders in which `score` has them, so that the bootstrap samples are the same.
    measured = {}
    for name, of_debater in zip(debaters, counts.swapaxes(0, 1), strict=True):
        by_claim, by_message = (
            measure_yes(
                of_debater[np.argsort(texts, kind="stable")].sum(axis=(1, 2))[:, counted],
                criteria,
                plan.samples,
                seed=0,
            )
            for texts in (claim_texts, first_messages[name])
        )
        measured[name] = with_intervals(by_claim, by_message)
    ignored = []
    for judge in judges:
        if judge not in sound:
            reason = "baseline" if judge in sound_judges else "only fallbacks"
            ignored.append(f"{judge} ({reason})")
    counted_names = [judges[number] for number in counted]
    source = f"judged by {names_of([plan_file.judges[number].about for number in counted])}"
    faults = [
        RunFault(
            name, count, f"{count} of {responses[name]} responses are fallbacks", what="fallback"
        )
        for name, count in (+fallbacks).items()  # without zeros
    ]
    report = share_report(
        measured,
        claims,
        criteria=criteria,
        baselines=baselines,
        compare=False,
        judges="; not counted: ".join(filter(None, (source, ", ".join(ignored)))),
        problems_of_runs=faults,
        apart=[fault.run for fault in faults if fault.number == responses[fault.run]],
        samples=plan.samples,
        seed=0,
    )
    figures = []
    # Categories have no mean: the debaters stand in the order of the share of the first one.
    places = ranking_places(criteria)
    first = MEAN if places else measured_answers[0].key
    for ranked in report.ranking:
        name = ranked.run
        measures = measured[name]
        low, high = measures[first].interval
        of_debater = counts[:, debaters.index(name)][..., places or [0], :]
        of_ranking_judges = of_debater[:, :, :, counted]
        figures.append(
            DebaterFigures(
                name=name,
                rank=ranked.rank,
                yes=measures[first].value,
                low=low,
                high=high,
                maxims={share.key: measures[share.key].value for share in measured_answers},
                judges=_by(judges, of_debater, 3) | dict.fromkeys({*judges} - sound_judges),
                users=_by(users, of_ranking_judges, 1),
                seeds=_by(seeds, of_ranking_judges, 2),
                responses=responses[name],
                words=words[name] / responses[name] if responses[name] else 0.0,
                fallbacks=fallbacks[name],
            )
        )

    return {
        "measure": answers_name(criteria) if places else first,
        "claims": claims,
        "debaters": figures,
        "comparisons": report.comparisons,
        "shares": report,
        "counted": counted_names,
    }


def _by(names: Sequence[str], counts: Floats, axis: int) -> dict[str, float]:
    """Return the mean for each entry of an axis, such as each user."""
    return {
        name: float(shares(np.take(counts, [number], axis=axis).sum(axis=(0, 1, 2))).mean())
        for number, name in enumerate(names)
    }
