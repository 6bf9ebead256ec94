"""The paper's algorithm 2 without model calls: points, shares, totals and the winner.

All functions are pure. A score that could not be computed is None and is left out for both sides,
so that totals stay comparable.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

from judges.debgraph._options import Options
from judges.debgraph._verdicts import Clash, Fact
from judges.debgraph.graph import CLAIMS, PREMISES, Kinds, SceneGraph
from touche_rad.contest import OTHER, SIDES, Side
from touche_rad.frozen import frozen

BySide = dict[Side, float | None]


def factuality(facts: Sequence[Fact], by: Literal["own", "all"]) -> BySide:
    """Return each side's sum of label times confidence, divided by the number of arguments.

    A side without arguments scores 0; a side whose arguments all lack a verdict has no score.
    """
    judged = [fact for fact in facts if fact.product is not None]
    scores: BySide = {}
    for side in SIDES:
        products = [fact.product or 0.0 for fact in judged if fact.side == side]
        count = len(products if by == "own" else judged)
        scores[side] = math.fsum(products) / count if count else 0.0
        if not products and any(fact.side == side for fact in facts):
            scores[side] = None
    return scores


def persuasion(clashes: Sequence[Clash], no_pairs: Literal["zero", "half"]) -> BySide:
    """Return each side's share of the decided pairs."""
    if not clashes:
        return dict.fromkeys(SIDES, 0.5 if no_pairs == "half" else 0.0)
    decided = [clash for clash in clashes if clash.winner is not None]
    if not decided:
        return dict.fromkeys(SIDES, None)
    scores: BySide = {}
    for side in SIDES:
        scores[side] = fmean(clash.share(side) for clash in decided)
    return scores


@frozen
class Points:
    """A side's points for structure."""

    claims: Sequence[int]
    supported: Sequence[int]
    """The claims that have a premise."""
    rebuttals: int
    """Rebuttals of the other side's claims; with `rebutted=any`, of all its arguments."""
    struck: Sequence[int]
    """The claims of the other side that this side rebuts."""

    @property
    def total(self) -> int:
        """One point for each claim with a premise and for each rebuttal."""
        return len(self.supported) + self.rebuttals


def points(
    graph: SceneGraph, kinds: Kinds = "like", rebutted: Literal["claim", "any"] = "claim"
) -> dict[Side, Points]:
    """Count each side's supported claims and its rebuttals."""
    claims: dict[Side, list[int]] = defaultdict(list)
    supported: dict[Side, list[int]] = defaultdict(list)
    attacked: dict[Side, list[int]] = defaultdict(list)
    """The targets of a side's rebuttals."""
    for node in graph.arguments():
        edges = graph.outgoing(node.id)
        attacked[node.side] += [edge.target for edge in edges if edge.relation.attacks]
        # One without a relation helps nobody: the prompt asks for none then.
        if edges and graph.kind(node.id) in CLAIMS[kinds]:
            claims[node.side].append(node.id)
            if any(edge.relation in PREMISES[kinds] for edge in graph.incoming(node.id)):
                supported[node.side].append(node.id)
    by_side: dict[Side, Points] = {}
    for side in SIDES:
        on_claims = [target for target in attacked[side] if target in claims[OTHER[side]]]
        by_side[side] = Points(
            claims=claims[side],
            supported=supported[side],
            rebuttals=len(on_claims if rebutted == "claim" else attacked[side]),
            struck=sorted(set(on_claims)),
        )
    return by_side


def structure(by_side: Mapping[Side, Points], by: Literal["both", "own"]) -> BySide:
    """Return each side's share of both sides' points, or of the points it could have reached."""
    scores: BySide = {}
    total = sum(points.total for points in by_side.values())
    for side, points in by_side.items():
        if by == "both":
            scores[side] = points.total / total if total else 0.0
        else:
            claims = len(by_side[OTHER[side]].claims)
            supported = len(points.supported) / len(points.claims) if points.claims else 0.0
            struck = len(points.struck) / claims if claims else 0.0
            scores[side] = (supported + struck) / 2
    return scores


@frozen
class Scorecard:
    """Both sides' scores by component, their totals, and why components are missing."""

    components: Mapping[str, BySide]
    totals: BySide
    missing: Mapping[str, str]


def scorecard(
    components: Mapping[str, BySide], options: Options, reasons: Mapping[str, str]
) -> Scorecard:
    """Add up the weighted components; a component that one side lacks is left out for both."""
    complete = {name: scores for name, scores in components.items() if None not in scores.values()}
    totals: BySide = dict.fromkeys(SIDES, None)
    if complete:
        for side in SIDES:
            # The option with the name of a component is its weight.
            totals[side] = math.fsum(
                getattr(options, name) * (scores[side] or 0.0) for name, scores in complete.items()
            )
    missing = {name: reasons.get(name, "") for name in components if name not in complete}
    return Scorecard(components, totals, missing)
