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
        judges = self.debaters[0].judges.items()
        why = {name: "baseline" if yes is not None else "only fallbacks" for name, yes in judges}
        ignored = [f"{name} ({why[name]})" for name in why if name not in self.counted]
        without = f"; not counted: {', '.join(ignored)}" if ignored else ""
        return f"share of yes, mean of judges ({', '.join(self.counted)}) and maxims{without}"

    def board(self) -> Table:
        """Return the ranked table of the debaters."""
        judges = list(self.debaters[0].judges)
        keys = list(self.debaters[0].maxims)
        rows = [
            [
                NONE if one.rank is None else str(one.rank),
                one.name,
                f"{one.yes:.3f}",
                cell("{low:.3f}–{high:.3f}", one),
                *(NONE if (yes := one.judges[it]) is None else f"{yes:.3f}" for it in judges),
                *(f"{one.maxims[key]:.3f}" for key in keys),
                f"{one.words:.1f}",
                str(one.fallbacks),
            ]
            for one in self.debaters
        ]
        heads = ["rank", "debater", "yes", INTERVAL, *judges, *keys, "words", "fallbacks"]
        return Table(heads, rows, name=1, optional=len(heads) - 4)


@dataclass(frozen=True)
class Summary:
    """Figures, and the report of the judges that the page draws."""

    figures: Figures
    judges: JudgementReport | None


def compute(plan_file: PlanFile, results: Path) -> Summary:
    """Compute all figures from the files of the results and the labels."""
    plan, criteria = plan_file.plan, grice()
    judges = _score_judges(plan_file, results, criteria)
    counts = _Counts(plan_file, results, criteria) if plan_file.debaters else None
    figures = Figures(
        name=plan.name,
        entries=tuple(
            (one.name, group.removesuffix("s"), one.about)
            for group, entries in plan_file.groups.items()
            for one in entries
        ),
        claims=counts.claims if counts else 0,
        samples=plan.samples,
        counted=tuple(counts.judges[at] for at in counts.ranking) if counts else (),
        debaters=tuple(counts.debaters()) if counts else (),
        comparisons=counts.comparisons() if counts else (),
        judges=judges.to_json() if judges is not None else None,
    )
    return Summary(figures, judges)


def _score_judges(plan_file: PlanFile, results: Path, criteria: Criteria) -> JudgementReport | None:
    plan = plan_file.plan
    if not plan.labels:
        return None
    cells = labelled_runs(plan_file)
    broken = [one.path for one in cells if _is_broken(results / one.path)]
    runs = {results / one.path: one.entry.name for one in cells if one.path not in broken}
    if not runs:
        raise WorkError(_ALL_BROKEN)
    report = score_judgements(
        list(runs),
        plan_file.file("labels"),
        criteria=criteria,
        baselines=[path for path, name in runs.items() if name in plan.pages.baselines],
        policy=Policy(debates=plan_file.file("debates")),
        samples=plan.samples,
    )
    for error in report.refused.values():
        raise WorkError(error)
    refused = dict.fromkeys(broken, "all its verdicts are fallbacks")
    report = report.model_copy(update={"refused": refused})
    return _without_folders(report, plan_file.folder, results)


def _is_broken(run: Path) -> bool:
    """Whether all verdicts of a run are fallbacks."""
    status = read_status(run)
    return VERDICTS in all_replaced(status.get("fallbacks", ()), status.get("counts", {}))


def _without_folders(report: JudgementReport, *folders: Path) -> JudgementReport:
    """Return a report whose texts name files without these folders, so that it can be moved."""

    def short(text: str) -> str:
        for folder in folders:
            text = text.replace(f"{folder}/", "")
        return text

    problems = tuple(
        one.model_copy(update={"run": short(one.run), "message": short(one.message)})
        for one in report.problems
    )
    names = {"truth": short(report.truth), "matched_by": short(report.matched_by or "")}
    return report.model_copy(update={**names, "problems": problems})


class _Counts:
    """The counts of the verdicts on all debaters."""

    def __init__(self, plan_file: PlanFile, results: Path, criteria: Criteria) -> None:
        self.plan = plan_file.plan
        self.criteria = criteria
        self.claims = sum(1 for _ in files.read_claims(plan_file.file("claims")))
        self.names = [one.name for one in plan_file.debaters]
        self.judges = [one.name for one in plan_file.judges]
        self.users = [one.name for one in plan_file.users]
        self.words: Counter[str] = Counter()
        self.responses: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.sound: set[str] = set()
        axes = (self.names, self.users, self.plan.seeds, self.judges, criteria.keys)
        self.counts = np.zeros((self.claims, *map(len, axes), 2))
        """Verdicts that are yes, and all, by claim, debater, user, seed, judge and criterion."""
        for one in cells_of(plan_file):
            path = results / one.path
            if isinstance(one, DebateCell):
                number = self._add_debates(path, one.entry.name)
            elif one.of is not None:
                self.sound.update([] if _is_broken(path) else [one.entry.name])
                number = self._add_verdicts(path, one, one.of)
            else:
                continue
            if number != self.claims:
                raise WorkError(f"{path} has {number} debates, and there are {self.claims} claims")
        self.baselines = [name for name in self.names if name in self.plan.pages.baselines]
        counted = self.sound.difference(self.plan.pages.baselines)
        self.ranking = [at for at, name in enumerate(self.judges) if name in counted]
        if not self.ranking:
            raise WorkError(_ALL_BROKEN)
        self.measured = {
            name: measure_yes(
                self.counts[:, at].sum(axis=(1, 2))[:, self.ranking],
                criteria,
                self.plan.samples,
                seed=0,
            )
            for at, name in enumerate(self.names)
        }

    def _add_debates(self, path: Path, debater: str) -> int:
        """Count responses, words and fallbacks, and return the number of debates."""
        debates = [
            [turn.response.content for turn in debate.turns if turn.response]
            for debate in files.read_debates(path)
        ]
        self.responses[debater] += sum(map(len, debates))
        self.words[debater] += sum(count_words(one) for texts in debates for one in texts)
        fallbacks = read_status(path).get("fallbacks") or ()
        self.fallbacks[debater] += sum(one["count"] for one in fallbacks if one["what"] == ANSWERS)
        return len(debates)

    def _add_verdicts(self, path: Path, verdicts: VerdictCell, debates: DebateCell) -> int:
        """Count the verdicts, and return the number of debates."""
        counts = [count_yes(one.turns, self.criteria) for one in files.read_evaluations(path)]
        at = (
            self.names.index(debates.entry.name),
            self.users.index(debates.user.name),
            self.plan.seeds.index(verdicts.seed),
            self.judges.index(verdicts.entry.name),
        )
        if len(counts) == self.claims:
            self.counts[(slice(None), *at)] = counts
        return len(counts)

    def debaters(self) -> Iterator[DebaterFigures]:
        """Yield the debaters, best first."""
        for ranked in ranks(self.measured, MEAN, self.baselines):
            name = ranked.run
            measured, own = self.measured[name], self.counts[:, self.names.index(name)]
            low, high = measured[MEAN].interval
            responses = self.responses[name]
            ranking = own[:, :, :, self.ranking]
            yield DebaterFigures(
                name=name,
                rank=ranked.rank,
                yes=measured[MEAN].value,
                low=low,
                high=high,
                maxims={key: measured[key].value for key in self.criteria.keys},
                judges=_by(self.judges, own, 3) | dict.fromkeys({*self.judges} - self.sound),
                users=_by(self.users, ranking, 1),
                seeds=_by([str(one) for one in self.plan.seeds], ranking, 2),
                responses=responses,
                words=self.words[name] / responses if responses else 0.0,
                fallbacks=self.fallbacks[name],
            )

    def comparisons(self) -> tuple[RunComparison, ...]:
        """Compare the debaters with the best one and with the baselines."""
        own = [name for name in self.names if name not in self.baselines] or self.names
        best = max(own, key=lambda name: self.measured[name][MEAN].value)
        return comparisons(self.measured, pairs(self.names, best, self.baselines), [MEAN])


def _by(names: Sequence[str], counts: Any, axis: int) -> dict[str, float]:
    """Return the mean share of yes for each entry of an axis, such as each user."""
    return {
        name: float(shares(np.take(counts, [at], axis=axis).sum(axis=(0, 1, 2))).mean())
        for at, name in enumerate(names)
    }
