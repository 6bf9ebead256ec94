"""A debate's graph as JSON, GraphML and Graphviz dot, and the panel's intermediate results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from textwrap import wrap
from typing import Any, Final

import networkx as nx

from judges.debgraph.building import Building
from judges.debgraph.graph import MOTION, Edge, Relation, SceneGraph, Stamp
from judges.debgraph.reading import Read
from judges.debgraph.scores import Points
from judges.debgraph.verdicts import Clash, Fact
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


_WIDE: Final = 40
"""Letters in a line of a label; Graphviz breaks none by itself."""
_NOT_XML: Final = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHAPES: Final = {"pro": "box, style=rounded", "con": "octagon", None: "plaintext"}
_COLOURS: Final = {"pro": "#1f5fa8", "con": "#b3540a", None: "#444444"}


def as_json(graph: SceneGraph) -> dict[str, Any]:
    """Return nodes and edges; the motion is the node 0."""
    nodes: list[dict[str, Any]] = [{"id": MOTION, "text": graph.motion, "kind": "motion"}]
    nodes += [
        {
            "id": node.id, "text": node.text, "kind": graph.kind(node.id).value,
            "side": node.side, "round": node.stamp.round, "speaker": node.stamp.speaker,
        }
        for node in graph.arguments()
    ]  # fmt: skip
    edges = [
        {
            "source": edge.source, "target": edge.target, "relation": edge.relation.value,
            "round": edge.round,
        }
        for edge in graph.edges()
    ]  # fmt: skip
    return {"nodes": nodes, "edges": edges}


def from_json(told: Mapping[str, Any]) -> SceneGraph:
    """Return the graph of what `as_json` gave.

    Raises:
        ValueError: It is no such graph.
    """
    try:
        motion = next(node for node in told["nodes"] if node["id"] == MOTION)
        graph = SceneGraph(motion["text"])
        for node in told["nodes"]:
            if node["id"] != MOTION:
                if node["side"] not in ("pro", "con"):
                    raise ValueError(f"expected the side pro or con, got {node['side']!r}")
                stamp = Stamp(node["side"], int(node["round"]), str(node.get("speaker", "")))
                graph.add(int(node["id"]), node["text"], stamp)
        for edge in told["edges"]:
            relation = Relation(edge["relation"])
            graph.relate(Edge(edge["source"], edge["target"], relation, int(edge["round"])))
    except (KeyError, TypeError, AttributeError, StopIteration) as error:
        raise ValueError(f"not a debate's graph: {error!r}") from None
    return graph


def graphml(graph: SceneGraph) -> str:
    """Return GraphML; letters that XML cannot hold are left out."""
    told = as_json(graph)
    plain: nx.MultiDiGraph = nx.MultiDiGraph()
    for node in told["nodes"]:
        rest = {"side": "", "speaker": "", "round": 0, **node}
        plain.add_node(rest.pop("id"), **{key: _xml(value) for key, value in rest.items()})
    for number, edge in enumerate(told["edges"], 1):
        ends = (edge["source"], edge["target"])
        plain.add_edge(*ends, key=f"e{number}", relation=edge["relation"], round=edge["round"])
    return "\n".join(nx.generate_graphml(plain, encoding="utf-8"))


def dot(graph: SceneGraph) -> str:
    """Return Graphviz's text: shape and colour tell the sides, line and arrow the relations."""
    lines = ["digraph debate {", "  rankdir=BT;", '  node [fontname="sans-serif"];']
    for id_ in graph.network.nodes:
        side = graph.side(id_)
        text = graph.motion if id_ == MOTION else f"{id_}: {graph.node(id_).text}"
        lines.append(
            f'  {id_} [label="{_dot(text)}", shape={_SHAPES[side]}, color="{_COLOURS[side]}"];'
        )
    for edge in graph.edges():
        form = (
            'style=dashed, color="#b3261e", arrowhead=tee'
            if edge.relation.attacks
            else 'style=solid, color="#1b6e3c", arrowhead=normal'
        )
        lines.append(f'  {edge.source} -> {edge.target} [label="{edge.relation.value}", {form}];')
    return "\n".join([*lines, "}"]) + "\n"


def _xml(value: Any) -> Any:
    return _NOT_XML.sub("", value) if isinstance(value, str) else value


def _dot(text: str) -> str:
    lines = (line.replace("\\", "\\\\").replace('"', '\\"') for line in wrap(text, _WIDE))
    return "\\n".join(lines)
