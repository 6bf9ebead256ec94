"""The results of an audit: flip rates, agreement and bias, and their terminal table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from touche_rad.debate import Maxim
from touche_rad.score.audit.probes import PROBES, Must
from touche_rad.score.figures import kappa
from touche_rad.score.official import Counts
from touche_rad.score.result import Item, align_columns

Scores = dict[Maxim, float | None]


class Flips(Item):
    """How a judge's verdicts on a maxim change under a probe."""

    judge: str
    probe: str
    maxim: Maxim
    must: Must
    tried: int
    flipped: float | None
    """Share of verdicts that change between yes and no."""
    fails: float | None
    """Share of wrong changes, of the `could_fail` verdicts that could change wrongly."""
    could_fail: int
    shift: float | None
    """Mean change of the score."""


class Agreement(Item):
    """Agreement of two judges on a maxim."""

    first: str
    second: str
    maxim: Maxim
    turns: int
    same: float
    kappa: float | None


class Next(Item):
    """A turn to label next: the judges disagree most, or a single judge is least certain."""

    debate: str
    turn: int
    maxim: Maxim
    apart: float
    scores: dict[str, float]
    user: str
    response: str


class Bias(Item):
    """Difference between a judge's scores of its own model family and of others."""

    judge: str
    family: str
    maxim: Maxim
    turns: int
    difference: float
    low: float | None
    high: float | None


class Audit(Item):
    """The result of an audit."""

    turns: int
    judges: tuple[str, ...]
    flips: tuple[Flips, ...]
    agreement: tuple[Agreement, ...]
    next: tuple[Next, ...]
    bias: tuple[Bias, ...] = ()
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the result as lines for the terminal."""
        return lines(self)


def flips(judge: str, pairs: dict[tuple[str, Maxim], list[tuple[float, float]]]) -> list[Flips]:
    """Return the flips of a judge from its scores before and after each probe."""
    rows = []
    for probe in PROBES:
        for maxim, must in probe.must.items():
            scores = pairs.get((probe.name, maxim), [])
            yes = [(before >= 0.5, after >= 0.5) for before, after in scores]
            flipped = [before != after for before, after in yes]
            faults = _faults(must, yes)
            rows.append(Flips(
                judge=judge, probe=probe.name, maxim=maxim, must=must, tried=len(scores),
                flipped=_mean(flipped), fails=_mean(faults), could_fail=len(faults),
                shift=_mean([after - before for before, after in scores]),
            ))  # fmt: skip
    return rows


def _faults(must: Must, yes: Sequence[tuple[bool, bool]]) -> list[bool]:
    if must is Must.STAY:
        return [before != after for before, after in yes]
    if must is Must.BE_NO:
        return [after for _, after in yes]
    return [after for before, after in yes if not before]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def agreements(scores: dict[str, list[Scores]]) -> list[Agreement]:
    """Return the agreement of each pair of judges on each maxim."""
    rows = []
    for first, second in combinations(scores, 2):
        for maxim in Maxim:
            pairs = [
                (a[maxim], b[maxim]) for a, b in zip(scores[first], scores[second], strict=True)
            ]
            yes = [(a >= 0.5, b >= 0.5) for a, b in pairs if a is not None and b is not None]
            if yes:
                rows.append(Agreement(
                    first=first, second=second, maxim=maxim, turns=len(yes),
                    same=sum(a == b for a, b in yes) / len(yes), kappa=kappa(_counts(yes)),
                ))  # fmt: skip
    return rows


def _counts(yes: Sequence[tuple[bool, bool]]) -> Counts:
    return Counts(
        tp=sum(a and b for a, b in yes), fp=sum(b and not a for a, b in yes),
        fn=sum(a and not b for a, b in yes), tn=sum(not a and not b for a, b in yes),
    )  # fmt: skip


def apart(scores: Sequence[float]) -> float:
    """Return the difference of the scores, or the uncertainty of a single score."""
    if len(scores) > 1:
        return max(scores) - min(scores)
    return 1 - 2 * abs(scores[0] - 0.5)


_NONE = "–"
_SHOWN = 10


def lines(audit: Audit) -> list[str]:
    """Format the result for the terminal."""
    parts = [
        [f"{audit.turns} turns, judged unchanged and with {len(PROBES)} probes"],
        *(_flips(audit, name) for name in audit.judges),
        [f"{probe.name}: {probe.description}" for probe in PROBES],
        list(_agreement(audit)), list(_bias(audit)), list(_next(audit)), list(audit.notes),
    ]  # fmt: skip
    return [line for part in parts if part for line in (*part, "")][:-1]


def _flips(audit: Audit, judge: str) -> list[str]:
    head = (judge, "maxim", "verdict must", "tried", "flipped", "fails", "of", "score change")
    rows = [
        (one.probe, one.maxim.value, one.must.value, str(one.tried), _percent(one.flipped),
         _percent(one.fails), str(one.could_fail),
         _NONE if one.shift is None else f"{one.shift:+.3f}")
        for one in audit.flips if one.judge == judge
    ]  # fmt: skip
    return align_columns([head, *rows])


def _agreement(audit: Audit) -> Iterator[str]:
    if audit.agreement:
        rows = [
            (f"{one.first} and {one.second}", one.maxim.value, str(one.turns), _percent(one.same),
             _NONE if one.kappa is None else f"{one.kappa:.3f}")
            for one in audit.agreement
        ]  # fmt: skip
        yield from align_columns([("agreement", "maxim", "turns", "same", "kappa"), *rows])


def _bias(audit: Audit) -> Iterator[str]:
    if audit.bias:
        rows = [
            (f"{one.judge} on {one.family}", one.maxim.value, str(one.turns),
             f"{one.difference:+.3f}",
             _NONE if one.low is None or one.high is None else f"{one.low:+.3f} to {one.high:+.3f}")
            for one in audit.bias
        ]  # fmt: skip
        head = ("same-family bias", "maxim", "turns", "difference", "95 %")
        yield from align_columns([head, *rows])


def _next(audit: Audit) -> Iterator[str]:
    if audit.next:
        rows = [
            (one.debate[:40], str(one.turn), one.maxim.value, f"{one.apart:.2f}",
             ", ".join(f"{name} {score:.2f}" for name, score in one.scores.items()))
            for one in audit.next[:_SHOWN]
        ]  # fmt: skip
        yield from align_columns([("label next", "turn", "maxim", "difference", "scores"), *rows])


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.1f} %"
