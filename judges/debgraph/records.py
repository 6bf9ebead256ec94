"""What the panel made on its way, as JSON for an outcome's details."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from judges.debgraph.building import Building
from judges.debgraph.export import as_json
from judges.debgraph.factuality import Fact
from judges.debgraph.persuasion import Clash
from judges.debgraph.reading import Read
from judges.debgraph.scores import Points
from touche_rad.contest import Side


def traced(building: Building) -> dict[str, Any]:
    """Return the graph and how it came to be."""
    return {
        "graph": as_json(building.graph),
        "timeline": [vars(step) for step in building.judge.steps],
        "speeches": [_read(one) for one in building.reads],
        "circles": building.graph.circles(),
        "degraded": any(one.degraded for one in building.reads),
    }


def _read(one: Read) -> dict[str, Any]:
    return {
        **vars(one.heard.stamp), "added": list(one.added),
        "relations": dict(Counter(relation.value for relation in one.relations)),
        "asked": one.asked, "faults": list(one.faults), "degraded": one.degraded,
        "shortened": one.shortened, "explanation": one.explanation,
    }  # fmt: skip


def fact_record(one: Fact) -> dict[str, Any]:
    """Return what was found of an argument."""
    return {**vars(one), "score": one.product}


def clash_record(one: Clash) -> dict[str, Any]:
    """Return what was found of a pair."""
    return {
        "pro": one.pair.pro, "con": one.pair.con, "answering": sorted(one.pair.answering),
        "winner": one.winner, "feedback": one.feedback, "fault": one.fault,
    }  # fmt: skip


def points_record(found: Mapping[Side, Points] | None) -> dict[str, Any]:
    """Return each side's points, and what they are for."""
    if found is None:
        return {}
    return {
        side: {
            "claims": list(its.claims), "supported": list(its.supported),
            "rebuttals": its.rebuttals, "struck": list(its.struck), "total": its.total,
        }
        for side, its in found.items()
    }  # fmt: skip
