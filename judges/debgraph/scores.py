"""The paper's second algorithm without the asking: points, shares, totals, and who is ahead.

Plain functions on a graph and on verdicts. What cannot be had is None and is left out on both
sides, so that totals stay comparable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from judges.debgraph.graph import OTHER, SIDES, Kinds, SceneGraph, is_claim, is_premise
from judges.debgraph.options import Options
from judges.debgraph.verdicts import Clash, Fact
from touche_rad.contest import TIE, Side

BySide = dict[Side, float | None]
COMPONENTS: Final = ("fact", "persuasion", "structure")
_SAME: Final = 1e-9


def factuality(facts: Sequence[Fact], by: Literal["own", "all"]) -> BySide:
    """Each side's sum of label times confidence, divided by how many arguments were judged.

    A side without arguments has earned nothing; one with arguments of which none could be judged
    has no score.
    """
    found: BySide = {}
    for side in SIDES:
        own = [fact for fact in facts if fact.side == side]
        judged = [fact.product for fact in own if fact.product is not None]
        among = len(judged) if by == "own" else sum(fact.product is not None for fact in facts)
        unknown = bool(own) and not judged
        found[side] = None if unknown else (math.fsum(judged) / among if among else 0.0)
    return found


def persuasion(clashes: Sequence[Clash], no_pairs: Literal["zero", "half"]) -> BySide:
    """Each side's share of the pairs that were decided."""
    if not clashes:
        return dict.fromkeys(SIDES, 0.5 if no_pairs == "half" else 0.0)
    decided = [clash for clash in clashes if clash.winner is not None]
    if not decided:
        return dict.fromkeys(SIDES, None)
    return {
        side: math.fsum(clash.share(side) or 0.0 for clash in decided) / len(decided)
        for side in SIDES
    }


@dataclass(frozen=True)
class Points:
    """What a side's arguments do in the graph."""

    claims: tuple[int, ...]
    supported: tuple[int, ...]
    """Those of the claims that have a premise."""
    rebuttals: int
    """Rebuttals of the other side's claims; of all its arguments with `rebutted=any`."""
    struck: tuple[int, ...]
    """The claims of the other side that they rebut."""

    @property
    def total(self) -> int:
        """A point for each claim with a premise, and for each rebuttal."""
        return len(self.supported) + self.rebuttals


def points(
    graph: SceneGraph, kinds: Kinds = "like", rebutted: Literal["claim", "any"] = "claim"
) -> dict[Side, Points]:
    """Count each side's supported claims and its rebuttals."""
    claims = {
        side: tuple(n.id for n in graph.arguments(side) if is_claim(graph.kind(n.id), kinds))
        for side in SIDES
    }
    return {side: _points(graph, side, claims, kinds, rebutted) for side in SIDES}


def _points(
    graph: SceneGraph, side: Side, claims: Mapping[Side, tuple[int, ...]], kinds: Kinds,
    rebutted: Literal["claim", "any"],
) -> Points:  # fmt: skip
    supported = tuple(
        id_
        for id_ in claims[side]
        if any(is_premise(edge.relation, kinds) for edge in graph.entering(id_))
    )
    attacks = [
        edge for node in graph.arguments(side) for edge in graph.leaving(node.id)
        if edge.relation.attacks
    ]  # fmt: skip
    on_claims = [edge for edge in attacks if edge.target in claims[OTHER[side]]]
    return Points(
        claims=claims[side], supported=supported,
        rebuttals=len(on_claims if rebutted == "claim" else attacks),
        struck=tuple(sorted({edge.target for edge in on_claims})),
    )  # fmt: skip


def structure(found: Mapping[Side, Points], by: Literal["both", "own"]) -> BySide:
    """Each side's share of all points, or of what it could have done for itself."""
    if by == "both":
        whole = sum(one.total for one in found.values())
        return {side: found[side].total / whole if whole else 0.0 for side in SIDES}
    return {
        side: (
            _part(len(found[side].supported), len(found[side].claims))
            + _part(len(found[side].struck), len(found[OTHER[side]].claims))
        )
        / 2
        for side in SIDES
    }


def _part(some: int, of: int) -> float:
    return some / of if of else 0.0


@dataclass(frozen=True)
class Scorecard:
    """Both sides' scores by component, their totals, and what could not be had."""

    components: Mapping[str, BySide]
    totals: BySide
    missing: Mapping[str, str] = field(default_factory=dict)

    def winner(self, margin: float = 0.0) -> Side | Literal["tie"] | None:
        """Who has the larger total."""
        return larger(self.totals, margin)

    @property
    def apart(self) -> float | None:
        """How far the totals are from each other."""
        pro, con = self.totals["pro"], self.totals["con"]
        return None if pro is None or con is None else abs(pro - con)


def scorecard(
    components: Mapping[str, BySide], options: Options, reasons: Mapping[str, str]
) -> Scorecard:
    """Add the components up by their weights; one that a side lacks is left out for both."""
    weights: Mapping[str, float] = {name: getattr(options, name) for name in COMPONENTS}
    whole = {name: its for name, its in components.items() if None not in its.values()}
    totals: BySide = {
        side: math.fsum(weights[name] * (its[side] or 0.0) for name, its in whole.items())
        if whole
        else None
        for side in SIDES
    }
    missing = {name: reasons.get(name, "") for name in components if name not in whole}
    return Scorecard(components, totals, missing)


def larger(scores: BySide, margin: float = 0.0) -> Side | Literal["tie"] | None:
    """Which side has more; equal, or no further apart than the margin, is a tie."""
    pro, con = scores["pro"], scores["con"]
    if pro is None or con is None:
        return None
    if abs(pro - con) <= margin + _SAME:
        return TIE
    return "pro" if pro > con else "con"
