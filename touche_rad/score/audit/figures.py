"""The results of an audit: flip rates and agreement, and their terminal table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from touche_rad.debate import Maxim
from touche_rad.score.audit._probes import PROBES, Must
from touche_rad.score.measures import count, kappa
from touche_rad.score.tables import Columns, Item, Part, Printed, table

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


class PairAgreement(Item):
    """Agreement of two judges, or annotators, on a maxim."""

    first: str
    second: str
    maxim: Maxim
    turns: int
    """Turns on which both say yes or no."""
    same: float | None
    kappa: float | None


class Audit(Printed):
    """The result of an audit."""

    format: int = 1
    turns: int
    judges: tuple[str, ...]
    flips: tuple[Flips, ...]
    agreement: tuple[PairAgreement, ...]
    warning: str = ""
    """Which responses and arguments contain possible instructions."""

    def parts(self) -> Iterator[Part]:
        """Yield the tables of the terminal output."""
        yield (f"{self.turns} turns, judged unchanged and with {len(PROBES)} probes",)
        for judge in self.judges:
            of_judge = [one for one in self.flips if one.judge == judge]
            yield table(((judge, "{probe}"), *_FLIP_COLUMNS), of_judge)
        yield (f"{probe.name}: {probe.description}" for probe in PROBES)
        yield table(AGREEMENT_COLUMNS, self.agreement)
        if self.warning:
            yield (self.warning,)


_FLIP_COLUMNS: Columns = (
    ("maxim", "{maxim}"),
    ("verdict must", "{must}"),
    ("tried", "{tried}"),
    ("flipped", "{flipped:percent}"),
    ("fails", "{fails:percent}"),
    ("of", "{could_fail}"),
    ("score change", "{shift:+.3f}"),
)
AGREEMENT_COLUMNS: Columns = (
    ("agreement", "{first} and {second}"),
    ("maxim", "{maxim}"),
    ("turns", "{turns}"),
    ("same", "{same:percent}"),
    ("kappa", "{kappa:.3f}"),
)


def flips(judge: str, pairs: dict[tuple[str, Maxim], list[tuple[float, float]]]) -> list[Flips]:
    """Return the flips of a judge from its scores before and after each probe."""
    rows = []
    for probe in PROBES:
        for maxim, must in probe.must.items():
            scores = pairs.get((probe.name, maxim), [])
            yes = [(before >= 0.5, after >= 0.5) for before, after in scores]
            flipped = [before != after for before, after in yes]
            faults = _faults(must, yes)
            rows.append(
                Flips(
                    judge=judge,
                    probe=probe.name,
                    maxim=maxim,
                    must=must,
                    tried=len(scores),
                    flipped=_mean(flipped),
                    fails=_mean(faults),
                    could_fail=len(faults),
                    shift=_mean([after - before for before, after in scores]),
                )
            )
    return rows


def _faults(must: Must, yes: Sequence[tuple[bool, bool]]) -> list[bool]:
    if must is Must.STAY:
        return [before != after for before, after in yes]
    if must is Must.BE_NO:
        return [after for _, after in yes]
    return [after for before, after in yes if not before]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def pair_agreement(
    first: str, second: str, maxim: Maxim, pairs: Sequence[tuple[bool, bool]]
) -> PairAgreement:
    """Return the agreement of two judges from what each says of the same turns."""
    return PairAgreement(
        first=first,
        second=second,
        maxim=maxim,
        turns=len(pairs),
        same=_mean([a == b for a, b in pairs]),
        kappa=kappa(count(pairs)),
    )


def agreements(scores: dict[str, list[Scores]]) -> list[PairAgreement]:
    """Return the agreement of each pair of judges on each maxim."""
    rows = []
    for first, second in combinations(scores, 2):
        for maxim in Maxim:
            pairs = [
                (a[maxim], b[maxim]) for a, b in zip(scores[first], scores[second], strict=True)
            ]
            yes = [(a >= 0.5, b >= 0.5) for a, b in pairs if a is not None and b is not None]
            if yes:
                rows.append(pair_agreement(first, second, maxim, yes))
    return rows
