"""An audit as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from touche_rad.audit.figures import Audit
from touche_rad.audit.probes import PROBES
from touche_rad.score.table import aligned

_NONE = "–"
_SHOWN = 10


def lines(audit: Audit) -> list[str]:
    """Lay it out."""
    parts = [
        [f"{audit.turns} turns, judged as they are and as {len(PROBES)} probes change them"],
        *(_flips(audit, name) for name in audit.judges),
        [f"{probe.name}: {probe.told}" for probe in PROBES],
        list(_agreement(audit)), list(_bias(audit)), list(_next(audit)), list(audit.notes),
    ]  # fmt: skip
    return [line for part in parts if part for line in (*part, "")][:-1]


def _flips(audit: Audit, judge: str) -> list[str]:
    head = (judge, "maxim", "verdict must", "tried", "flipped", "fails", "of", "score rises by")
    rows = [
        (one.probe, one.maxim.value, one.must.value, str(one.tried), _percent(one.flipped),
         _percent(one.fails), str(one.could_fail),
         _NONE if one.shift is None else f"{one.shift:+.3f}")
        for one in audit.flips if one.judge == judge
    ]  # fmt: skip
    return aligned([head, *rows])


def _agreement(audit: Audit) -> Iterator[str]:
    if audit.agreement:
        rows = [
            (f"{one.first} and {one.second}", one.maxim.value, str(one.turns), _percent(one.same),
             _NONE if one.kappa is None else f"{one.kappa:.3f}")
            for one in audit.agreement
        ]  # fmt: skip
        yield from aligned([("agreement", "maxim", "turns", "same", "kappa"), *rows])


def _bias(audit: Audit) -> Iterator[str]:
    if audit.bias:
        rows = [
            (f"{one.judge} on {one.family}", one.maxim.value, str(one.turns),
             f"{one.difference:+.3f}",
             _NONE if one.low is None or one.high is None else f"{one.low:+.3f} to {one.high:+.3f}")
            for one in audit.bias
        ]  # fmt: skip
        head = ("its own family scores higher by", "maxim", "turns", "difference", "95 %")
        yield from aligned([head, *rows])


def _next(audit: Audit) -> Iterator[str]:
    if audit.next:
        rows = [
            (one.debate[:40], str(one.turn), one.maxim.value, f"{one.apart:.2f}",
             ", ".join(f"{name} {score:.2f}" for name, score in one.scores.items()))
            for one in audit.next[:_SHOWN]
        ]  # fmt: skip
        yield from aligned([("to label next", "turn", "maxim", "apart", "scores"), *rows])


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.1f} %"
