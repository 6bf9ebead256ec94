"""Panels' verdicts on whole debates against what humans decided, beside constant predictors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from touche_rad import files
from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.errors import InputError
from touche_rad.files.contests import Judgement
from touche_rad.score import verdicts as v
from touche_rad.score.bootstrap import interval, weights
from touche_rad.score.naming import names
from touche_rad.score.result import Fact

Basis = Literal["winner", "score", "constant"]


class ContestRow(Fact):
    """A run's figures on one dimension; errors are times 100, as in the papers."""

    run: str
    dimension: str
    basis: Basis
    """The winner that was named, the one that the scores give, or a constant predictor."""
    debates: int
    completed: float
    accuracy: float | None = None
    """Of all debates: what was not judged is wrong."""
    accuracy_low: float | None = None
    accuracy_high: float | None = None
    accuracy_completed: float | None = None
    rmse: float | None = None
    rmse_low: float | None = None
    rmse_high: float | None = None
    mae: float | None = None
    pearson: float | None = None
    spearman: float | None = None
    kendall: float | None = None


class BiasRow(Fact):
    """What a run's winners go by besides what is said."""

    run: str
    debates: int
    con: float | None
    """The share of decided debates that con wins."""
    con_gold: float | None
    last: float | None
    """The share that the last speaker wins."""
    last_gold: float | None
    longest: float | None
    """The share that whoever said most wins."""
    longest_gold: float | None
    swapped: int
    flipped: float | None
    """The share of debates whose winner is another when the sides are swapped."""
    stays_with_side: float | None
    """The share in which the other debater wins after the swap: the side won, not the speeches."""


class SameRow(Fact):
    """How often two runs name the same winner."""

    first: str
    second: str
    debates: int
    same: float
    kappa: float | None


class Published(Fact):
    """A figure that a paper reports, on its data and with its models: theirs, not ours."""

    system: str
    data: str
    dimension: str
    measure: str
    value: float
    paper: str


class ContestReport(Fact):
    """All figures of one scoring."""

    kind: Literal["contests"] = "contests"
    truth: str
    debates: int
    samples: int
    seed: int
    rows: tuple[ContestRow, ...]
    biases: tuple[BiasRow, ...] = ()
    same: tuple[SameRow, ...] = ()
    published: tuple[Published, ...] = Field(default=())
    missing: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON."""
        return self.model_dump(mode="json")

    def lines(self) -> list[str]:
        """Lay the report out for a terminal."""
        from touche_rad.score.contest_table import lines

        return lines(self)


Known = dict[str, Contest]


def score_contests(
    runs: Sequence[Path],
    truth: Path,
    *,
    samples: int = 10_000,
    seed: int = 0,
    bad: files.BadLines | None = None,
) -> ContestReport:
    """Score runs of panels against contests with known winners.

    Args:
        runs: Outcomes; several of one panel are its repeats.
        truth: Contests with `gold`.
        samples: Bootstrap draws of debates.
        seed: For the draws.
        bad: What happens to bad lines.
    """
    known = _known(truth)
    judged = {name: _judged(path, known, bad) for name, path in zip(names(runs), runs, strict=True)}
    dimensions = dict.fromkeys(
        dimension
        for contest in known.values()
        for dimension in contest.gold
        if dimension != "votes"
    )
    rows: list[ContestRow] = []
    for dimension in dimensions:
        contests = [one for one in known.values() if v.gold_of(one, dimension)]
        rows += _of_dimension(dimension, contests, judged, samples, seed)
    return ContestReport(
        truth=truth.name, debates=len(known), samples=samples, seed=seed, rows=tuple(rows),
        biases=tuple(_bias(name, known, of_run) for name, of_run in judged.items()),
        same=tuple(_same(known, judged)), published=published(),
        missing={
            name: lost for name, of_run in judged.items()
            if (lost := tuple(key for key in known if key not in of_run))
        },
    )  # fmt: skip


def published() -> tuple[Published, ...]:
    """Return what the papers report."""
    import tomllib
    from importlib.resources import files as resources

    told = tomllib.loads(resources(__package__).joinpath("published.toml").read_text("utf-8"))
    return tuple(Published.model_validate(one) for one in told["figure"])


def _known(truth: Path) -> Known:
    found: Known = {}
    for number, contest in enumerate(files.read_contests(truth), 1):
        key = contest.id or str(number)
        if key in found:
            raise InputError(truth, f"the contest {key!r} is there twice", line=number, field="id")
        strangers = {
            name
            for dimension in contest.gold
            if dimension != "votes"
            for name in v.gold_of(contest, dimension)
        } - {*contest.sides, TIE}
        if strangers:
            told = f"{sorted(strangers)[0]!r} did not speak: a speaker, or tie, is expected"
            raise InputError(truth, told, line=number, field="gold")
        found[key] = contest
    if not any(contest.gold for contest in found.values()):
        raise InputError(truth, "no contest says who won: `gold` is expected")
    return found


def _judged(path: Path, known: Known, bad: files.BadLines | None) -> dict[str, Judgement]:
    found: dict[str, Judgement] = {}
    for number, one in enumerate(files.read_outcomes(path, bad), 1):
        if one.id not in known:
            raise InputError(path, f"the truth has no contest {one.id!r}", line=number, field="id")
        found[one.id] = one
    return found


def _of_dimension(
    dimension: str,
    contests: Sequence[Contest],
    judged: Mapping[str, Mapping[str, Judgement]],
    samples: int,
    seed: int,
) -> Iterator[ContestRow]:
    for name, of_run in judged.items():
        outcomes = [of_run[one.id].outcome if one.id in of_run else None for one in contests]
        if any(o is not None and dimension in _told(o, dimension) for o in outcomes):
            winners = [_winner(o, dimension) for o in outcomes]
            leans = [
                v.leaning(c, o, dimension) if o else None
                for c, o in zip(contests, outcomes, strict=True)
            ]
            yield _row(name, dimension, "winner", contests, winners, leans, samples, seed)
            by_score = [_by_score(o, dimension) for o in outcomes]
            if any(by_score):
                yield _row(name, dimension, "score", contests, by_score, leans, samples, seed)
    for name, predicts in v.constants(contests, dimension).items():
        winners = [predicts(one) for one in contests]
        none: list[float | None] = [None] * len(contests)
        yield _row(name, dimension, "constant", contests, winners, none, samples, seed)
    yield _random(dimension, contests)


def _told(outcome: Outcome, dimension: str) -> set[str]:
    scored = {name for marks in outcome.scores.values() for name in marks}
    return {*outcome.winners, *scored, *(["general"] if dimension == "general" else [])}


def _winner(outcome: Outcome | None, dimension: str) -> str | None:
    if outcome is None:
        return None
    if dimension == "general":
        return outcome.winner
    return outcome.winners.get(dimension)


def _by_score(outcome: Outcome | None, dimension: str) -> str | None:
    """Return the winner that the scores give, where a panel told one of both kinds."""
    told = (outcome.details.get("by_score") if outcome else None) or {}
    found = told.get(dimension) if isinstance(told, dict) else None
    return found if isinstance(found, str) else None


def _row(
    run: str,
    dimension: str,
    basis: Basis,
    contests: Sequence[Contest],
    winners: Sequence[str | None],
    leans: Sequence[float | None],
    samples: int,
    seed: int,
) -> ContestRow:
    gold = [v.gold_of(one, dimension) for one in contests]
    right = [won in of_gold for won, of_gold in zip(winners, gold, strict=True)]
    errors: list[float | None] = []
    for contest, won, of_gold in zip(contests, winners, gold, strict=True):
        lined = won is not None and v.two_sided(contest) and len(of_gold) == 1
        errors.append(
            v.value(contest, won) - v.value(contest, next(iter(of_gold)))
            if lined and won is not None
            else None
        )
    known = [error for error in errors if error is not None]
    completed = [won is not None for won in winners]
    pairs = [
        (lean, v.value(contest, next(iter(of_gold))))
        for contest, lean, of_gold in zip(contests, leans, gold, strict=True)
        if lean is not None and len(of_gold) == 1
    ]
    low, high = _drawn(np.array(right, float), np.ones(len(right)), samples, seed)
    squares = np.array([0.0 if error is None else error**2 for error in errors])
    counted = np.array([error is not None for error in errors], float)
    bottom, top = _drawn(squares, counted, samples, seed)
    return ContestRow(
        run=run, dimension=dimension, basis=basis, debates=len(contests),
        completed=sum(completed) / len(contests), accuracy=v.share(right),
        accuracy_low=low, accuracy_high=high,
        accuracy_completed=v.share([r for r, done in zip(right, completed, strict=True) if done]),
        rmse=v.root_mean_square(known), mae=v.mean_absolute(known),
        rmse_low=100 * bottom**0.5 if bottom is not None and known else None,
        rmse_high=100 * top**0.5 if top is not None and known else None,
        **v.correlations([lean for lean, _ in pairs], [value for _, value in pairs]),
    )  # fmt: skip


def _random(dimension: str, contests: Sequence[Contest]) -> ContestRow:
    """A guess at random, as it does on average."""
    ties = all(v.two_sided(one) for one in contests)
    shares = [v.chance(one, v.gold_of(one, dimension), ties=ties) for one in contests]
    squares: list[float] = []
    for one in contests:
        gold = v.gold_of(one, dimension)
        if ties and len(gold) == 1:
            at = v.value(one, next(iter(gold)))
            squares += [(guess - at) ** 2 for guess in (0.0, 0.5, 1.0)]
    mean = sum(shares) / len(shares)
    return ContestRow(
        run="at random", dimension=dimension, basis="constant", debates=len(contests),
        completed=1.0, accuracy=mean, accuracy_completed=mean,
        rmse=100 * (sum(squares) / len(squares)) ** 0.5 if squares else None,
    )  # fmt: skip


def _drawn(
    values: np.ndarray, counted: np.ndarray, samples: int, seed: int
) -> tuple[float | None, float | None]:
    """The middle 95 % of a mean over debates drawn anew."""
    if len(values) < 2 or not counted.any():
        return None, None
    means: list[np.ndarray] = []
    for drawn in weights(len(values), samples, seed):
        sums, counts = drawn @ values, drawn @ counted
        means.append(np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0))
    return interval(np.concatenate(means))


def _bias(run: str, known: Known, judged: Mapping[str, Judgement]) -> BiasRow:
    pairs = [(known[key], one) for key, one in judged.items()]
    decided = [
        (contest, one.outcome.winner) for contest, one in pairs
        if one.outcome.winner not in (None, TIE)
    ]  # fmt: skip
    golden = [
        (contest, winner)
        for contest, _ in pairs
        if len(gold := v.gold_of(contest, "general")) == 1 and (winner := next(iter(gold))) != TIE
    ]
    both = [
        (one.outcome.winner, one.swapped.winner)
        for _, one in pairs
        if one.swapped is not None and one.outcome.winner and one.swapped.winner
    ]
    return BiasRow(
        run=run, debates=len(pairs), swapped=len(both),
        con=v.share([c.sides[w] == "con" for c, w in decided if w is not None]),
        con_gold=v.share([c.sides[w] == "con" for c, w in golden]),
        last=v.share([c.speeches[-1].speaker == w for c, w in decided if c.speeches]),
        last_gold=v.share([c.speeches[-1].speaker == w for c, w in golden if c.speeches]),
        longest=v.share([v.longest(c) == w for c, w in decided if v.longest(c)]),
        longest_gold=v.share([v.longest(c) == w for c, w in golden if v.longest(c)]),
        flipped=v.share([before != after for before, after in both]),
        stays_with_side=v.share(
            [before != after and TIE not in (before, after) for before, after in both]
        ),
    )  # fmt: skip


def _same(known: Known, judged: Mapping[str, Mapping[str, Judgement]]) -> Iterator[SameRow]:
    for first, second in combinations(judged, 2):
        shared = [key for key in known if key in judged[first] and key in judged[second]]
        pairs = [
            (judged[first][key].outcome.winner, judged[second][key].outcome.winner)
            for key in shared
        ]
        found = v.same_winner(pairs)
        if found is not None:
            yield SameRow(
                first=first, second=second, debates=len(shared), same=found[0], kappa=found[1]
            )
