"""The paper's algorithm 2 without model calls: points, shares, totals and the winner.

All functions are pure. A score that could not be computed is None and is left out for both sides,
so that totals stay comparable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from judges.debgraph._options import Options
from judges.debgraph._verdicts import Clash, Fact
from judges.debgraph.graph import CLAIMS, OTHER, PREMISES, SIDES, Kinds, SceneGraph
from touche_rad.contest import Side, leader

BySide = dict[Side, float | None]
COMPONENTS: Final = ("fact", "persuasion", "structure")


def factuality(facts: Sequence[Fact], by: Literal["own", "all"]) -> BySide:
    """Return each side's sum of label times confidence, divided by the number of arguments.

    A side without arguments scores 0; a side whose arguments all lack a verdict has no score.
    """
    scores: BySide = {}
    for side in SIDES:
        own = [fact for fact in facts if fact.side == side]
        products = [fact.product for fact in own if fact.product is not None]
        count = len(products) if by == "own" else sum(fact.product is not None for fact in facts)
        unknown = bool(own) and not products
        scores[side] = None if unknown else (math.fsum(products) / count if count else 0.0)
    return scores


def persuasion(clashes: Sequence[Clash], no_pairs: Literal["zero", "half"]) -> BySide:
    """Return each side's share of the decided pairs."""
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
    """A side's points for structure."""

    claims: tuple[int, ...]
    supported: tuple[int, ...]
    """The claims that have a premise."""
    rebuttals: int
    """Rebuttals of the other side's claims; with `rebutted=any`, of all its arguments."""
    struck: tuple[int, ...]
    """The claims of the other side that this side rebuts."""

    @property
    def total(self) -> int:
        """One point for each claim with a premise and for each rebuttal."""
        return len(self.supported) + self.rebuttals

    def record(self) -> dict[str, Any]:
        """Return the points as JSON."""
        lists = {
            key: list(its) if isinstance(its, tuple) else its for key, its in vars(self).items()
        }
        return {**lists, "total": self.total}


def points(
    graph: SceneGraph, kinds: Kinds = "like", rebutted: Literal["claim", "any"] = "claim"
) -> dict[Side, Points]:
    """Count each side's supported claims and its rebuttals."""
    claims: dict[Side, tuple[int, ...]] = {
        side: tuple(
            node.id
            for node in graph.arguments(side)
            # One without a relation helps nobody: the prompt asks for none then.
            if graph.outgoing(node.id) and graph.kind(node.id) in CLAIMS[kinds]
        )
        for side in SIDES
    }
    by_side: dict[Side, Points] = {}
    for side in SIDES:
        supported = tuple(
            id_
            for id_ in claims[side]
            if any(edge.relation in PREMISES[kinds] for edge in graph.incoming(id_))
        )
        attacks = [
            edge.target
            for node in graph.arguments(side)
            for edge in graph.outgoing(node.id)
            if edge.relation.attacks
        ]
        on_claims = [target for target in attacks if target in claims[OTHER[side]]]
        rebuttals = len(on_claims if rebutted == "claim" else attacks)
        by_side[side] = Points(claims[side], supported, rebuttals, tuple(sorted(set(on_claims))))
    return by_side


def structure(by_side: Mapping[Side, Points], by: Literal["both", "own"]) -> BySide:
    """Return each side's share of both sides' points, or of the points it could have reached."""
    if by == "both":
        whole = sum(its.total for its in by_side.values())
        return {side: by_side[side].total / whole if whole else 0.0 for side in SIDES}
    scores: BySide = {}
    for side in SIDES:
        own, claims = by_side[side], len(by_side[OTHER[side]].claims)
        supported = len(own.supported) / len(own.claims) if own.claims else 0.0
        struck = len(own.struck) / claims if claims else 0.0
        scores[side] = (supported + struck) / 2
    return scores


@dataclass(frozen=True)
class Scorecard:
    """Both sides' scores by component, their totals, and why components are missing."""

    components: Mapping[str, BySide]
    totals: BySide
    missing: Mapping[str, str] = field(default_factory=dict)

    def winner(self, margin: float = 0.0) -> Side | Literal["tie"] | None:
        """Return the side with the larger total."""
        return leader(self.totals, margin)

    @property
    def difference(self) -> float | None:
        """The difference between the totals."""
        pro, con = self.totals["pro"], self.totals["con"]
        return None if pro is None or con is None else abs(pro - con)


def scorecard(
    components: Mapping[str, BySide], options: Options, reasons: Mapping[str, str]
) -> Scorecard:
    """Add up the weighted components; a component that one side lacks is left out for both."""
    values = dict(options)
    weights: Mapping[str, float] = {name: values[name] for name in COMPONENTS}
    complete = {name: its for name, its in components.items() if None not in its.values()}
    totals: BySide = dict.fromkeys(SIDES, None)
    if complete:
        totals = {
            side: math.fsum(weights[name] * (its[side] or 0.0) for name, its in complete.items())
            for side in SIDES
        }
    missing = {name: reasons.get(name, "") for name in components if name not in complete}
    return Scorecard(components, totals, missing)
