"""The figures of a run, from its files only: the debaters' share of yes and the judges' scores.

The share of yes of a debater is the mean over its judges and the maxims. The bootstrap draws
claims, because the debates on one claim are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from touche_rad import files
from touche_rad.bench._cells import DebateCell, VerdictCell, cells_of, labelled_runs
from touche_rad.bench.plan import PlanFile
from touche_rad.criteria import Criteria, grice
from touche_rad.errors import WorkError
from touche_rad.files.outputs import all_replaced, read_status
from touche_rad.runs.fallbacks import ANSWERS
from touche_rad.runs.judging import VERDICTS
from touche_rad.score import JudgementReport, Policy, score_judgements
from touche_rad.score.rates import count_yes, measure_yes, shares
from touche_rad.score.result import MEAN, RunComparison
from touche_rad.score.significance import comparisons, pairs, ranks
from touche_rad.score.tables import INTERVAL, NONE, FrozenRecord, Part, Printed, Table, cell
from touche_rad.text import count_words

FORMAT: Final = "touche-rad figures 1"
_ALL_BROKEN: Final = "all verdicts are fallbacks: correct the judges' model, then add --restart"


class DebaterFigures(FrozenRecord):
    """The result of one debater."""

    name: str
    rank: int | None
    """None for a baseline."""
    yes: float
    """Share of yes, mean of the judges and the maxims."""
    low: float | None
    high: float | None
    """95 % interval; None with one claim."""
    maxims: Mapping[str, float]
    judges: Mapping[str, float | None]
    """Share of yes by judge; None if all its verdicts are fallbacks."""
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
    entries: tuple[tuple[str, str, str], ...]
    """Name, kind, and plugin with its options and its model."""
    claims: int
    samples: int
    counted: tuple[str, ...] = ()
    """The judges that count in `yes`: no baselines, and none with only fallback verdicts."""
    debaters: tuple[DebaterFigures, ...] = ()
    comparisons: tuple[RunComparison, ...] = ()
    judges: Mapping[str, Any] | None = None
    """The judges' scores on the labelled debates, as touche-rad score --json prints them."""

    def parts(self) -> Iterator[Part]:
        """Yield the ranking of the debaters, and what the names of the entries mean."""
        if self.debaters:
            yield (
                f"{self.name}: {self.claims} claims; {self.mean}",
                f"95 % intervals from {self.samples} bootstrap samples of claims",
            )
            yield self.board()
        yield [f"{kind} {name}: {text}" for name, kind, text in self.entries if name != text]

    @property
    def mean(self) -> str:
        """What the shares of yes are means of."""
        ignored = []
        for judge, yes in self.debaters[0].judges.items():
            if judge not in self.counted:
                reason = "baseline" if yes is not None else "only fallbacks"
                ignored.append(f"{judge} ({reason})")
        mean = f"share of yes, mean of judges ({', '.join(self.counted)}) and maxims"
        return f"{mean}; not counted: {', '.join(ignored)}" if ignored else mean

    def board(self) -> Table:
        """Return the ranked table of the debaters."""
        judges = list(self.debaters[0].judges)
        keys = list(self.debaters[0].maxims)
        rows = []
        for debater in self.debaters:
            shares_by_judge = [debater.judges[judge] for judge in judges]
            rows.append(
                [
                    NONE if debater.rank is None else str(debater.rank),
                    debater.name,
                    f"{debater.yes:.3f}",
                    cell("{low:.3f}–{high:.3f}", debater),
                    *(NONE if share is None else f"{share:.3f}" for share in shares_by_judge),
                    *(f"{debater.maxims[key]:.3f}" for key in keys),
                    f"{debater.words:.1f}",
                    str(debater.fallbacks),
                ]
            )
        heads = ["rank", "debater", "yes", INTERVAL, *judges, *keys, "words", "fallbacks"]
        return Table(heads, rows, name=1, optional=len(heads) - 4)


@dataclass(frozen=True)
class BenchSummary:
    """Figures, and the report of the judges that the page draws."""

    figures: Figures
    judges: JudgementReport | None


def compute(plan_file: PlanFile, results: Path) -> BenchSummary:
    """Compute all figures from the files of the results and the labels."""
    plan = plan_file.plan
    criteria = grice()
    judges = _score_judges(plan_file, results, criteria) if plan.labels else None
    figures = Figures(
        name=plan.name,
        entries=tuple(
            (entry.name, group.removesuffix("s"), entry.about)
            for group, entries in plan_file.groups.items()
            for entry in entries
        ),
        claims=0,
        samples=plan.samples,
        judges=judges.to_json() if judges is not None else None,
    )
    if plan_file.debaters:
        counts = _Counts(plan_file, results, criteria)
        figures = figures.model_copy(update=counts.figures())
    return BenchSummary(figures, judges)


def _score_judges(plan_file: PlanFile, results: Path, criteria: Criteria) -> JudgementReport:
    """Score the judges on the labelled debates."""
    plan = plan_file.plan
    runs = labelled_runs(plan_file)
    broken = [run.path for run in runs if _is_broken(results / run.path)]
    judges = {results / run.path: run.entry.name for run in runs if run.path not in broken}
    if not judges:
        raise WorkError(_ALL_BROKEN)
    report = score_judgements(
        list(judges),
        plan_file.file("labels"),
        criteria=criteria,
        baselines=[path for path, judge in judges.items() if judge in plan.pages.baselines],
        policy=Policy(debates=plan_file.file("debates")),
        samples=plan.samples,
    )
    for error in report.refused.values():
        raise WorkError(error)

    # Without their folders, because the results can be moved.
    def short(text: str) -> str:
        return text.replace(f"{plan_file.folder}/", "").replace(f"{results}/", "")

    problems = tuple(
        problem.model_copy(update={"run": short(problem.run), "message": short(problem.message)})
        for problem in report.problems
    )
    return report.model_copy(
        update={
            "refused": dict.fromkeys(broken, "all its verdicts are fallbacks"),
            "truth": short(report.truth),
            "matched_by": short(report.matched_by or ""),
            "problems": problems,
        }
    )


def _is_broken(run: Path) -> bool:
    """Whether all verdicts of a run are fallbacks."""
    status = read_status(run)
    return VERDICTS in all_replaced(status.get("fallbacks", ()), status.get("counts", {}))


class _Counts:
    """The counts of the verdicts on all debaters."""

    def __init__(self, plan_file: PlanFile, results: Path, criteria: Criteria) -> None:
        self.plan = plan_file.plan
        self.criteria = criteria
        self.claims = sum(1 for _ in files.read_claims(plan_file.file("claims")))
        self.debaters = [debater.name for debater in plan_file.debaters]
        self.judges = [judge.name for judge in plan_file.judges]
        self.users = [user.name for user in plan_file.users]
        self.words: Counter[str] = Counter()
        self.responses: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.sound_judges: set[str] = set()
        """The judges that have a verdict of their own."""
        axes = (self.debaters, self.users, self.plan.seeds, self.judges, criteria.keys)
        self.counts = np.zeros((self.claims, *map(len, axes), 2))
        """Verdicts that are yes, and all, by claim, debater, user, seed, judge and criterion."""
        for run in cells_of(plan_file):
            path = results / run.path
            if isinstance(run, DebateCell):
                number = self._add_debates(path, run.entry.name)
            elif run.of is not None:
                number = self._add_verdicts(path, run, run.of)
            else:
                continue
            if number != self.claims:
                raise WorkError(f"{path} has {number} debates, and there are {self.claims} claims")

    def _add_debates(self, path: Path, debater: str) -> int:
        """Count responses, words and fallbacks, and return the number of debates."""
        number = 0
        for debate in files.read_debates(path):
            number += 1
            for turn in debate.turns:
                if turn.response:
                    self.responses[debater] += 1
                    self.words[debater] += count_words(turn.response.content)
        for fallback in read_status(path).get("fallbacks") or ():
            if fallback["what"] == ANSWERS:
                self.fallbacks[debater] += fallback["count"]
        return number

    def _add_verdicts(self, path: Path, verdicts: VerdictCell, debates: DebateCell) -> int:
        """Count the verdicts, and return the number of debates."""
        judge = verdicts.entry.name
        if not _is_broken(path):
            self.sound_judges.add(judge)
        counts = [
            count_yes(evaluation.turns, self.criteria)
            for evaluation in files.read_evaluations(path)
        ]
        place = (
            self.debaters.index(debates.entry.name),
            self.users.index(debates.user.name),
            self.plan.seeds.index(verdicts.seed),
            self.judges.index(judge),
        )
        if len(counts) == self.claims:
            self.counts[(slice(None), *place)] = counts
        return len(counts)

    def figures(self) -> dict[str, Any]:
        """Return the figures on the debaters, best first."""
        baselines = self.plan.pages.baselines
        counted = self.sound_judges.difference(baselines)
        ranking = [number for number, judge in enumerate(self.judges) if judge in counted]
        if not ranking:
            raise WorkError(_ALL_BROKEN)
        measured = {
            name: measure_yes(
                self.counts[:, number].sum(axis=(1, 2))[:, ranking],
                self.criteria,
                self.plan.samples,
                seed=0,
            )
            for number, name in enumerate(self.debaters)
        }

        unranked = [name for name in self.debaters if name in baselines]
        seeds = [str(seed) for seed in self.plan.seeds]
        debaters = []
        for ranked in ranks(measured, MEAN, unranked):
            name = ranked.run
            measures = measured[name]
            low, high = measures[MEAN].interval
            responses = self.responses[name]
            counts = self.counts[:, self.debaters.index(name)]
            by_judge: dict[str, float | None] = {**_by(self.judges, counts, 3)}
            by_judge |= dict.fromkeys({*self.judges} - self.sound_judges)
            counts = counts[:, :, :, ranking]
            debaters.append(
                DebaterFigures(
                    name=name,
                    rank=ranked.rank,
                    yes=measures[MEAN].value,
                    low=low,
                    high=high,
                    maxims={key: measures[key].value for key in self.criteria.keys},
                    judges=by_judge,
                    users=_by(self.users, counts, 1),
                    seeds=_by(seeds, counts, 2),
                    responses=responses,
                    words=self.words[name] / responses if responses else 0.0,
                    fallbacks=self.fallbacks[name],
                )
            )

        # All are compared with the best one that has a rank, and with the baselines.
        rivals = [name for name in self.debaters if name not in unranked] or self.debaters
        best = max(rivals, key=lambda name: measured[name][MEAN].value)
        compared = pairs(self.debaters, best, unranked)
        return {
            "claims": self.claims,
            "counted": tuple(self.judges[number] for number in ranking),
            "debaters": tuple(debaters),
            "comparisons": comparisons(measured, compared, [MEAN]),
        }


def _by(names: Sequence[str], counts: Any, axis: int) -> dict[str, float]:
    """Return the mean share of yes for each entry of an axis, such as each user."""
    return {
        name: float(shares(np.take(counts, [number], axis=axis).sum(axis=(0, 1, 2))).mean())
        for number, name in enumerate(names)
    }
