"""A debate's graph as JSON and GraphML.

The JSON is our own: networkx's `node_link_data` would repeat each relation as the key of its edge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import networkx as nx

from judges.debgraph.graph import MOTION, Edge, Origin, Relation, SceneGraph

_NOT_XML: Final = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_json(graph: SceneGraph) -> dict[str, Any]:
    """Return nodes and edges; the motion is the node 0."""
    nodes: list[dict[str, Any]] = [{"id": MOTION, "text": graph.motion, "kind": "motion"}]
    nodes += [
        {
            "id": node.id,
            "text": node.text,
            "kind": graph.kind(node.id).value,
            "side": node.side,
            "round": node.origin.round,
            "speaker": node.origin.speaker,
        }
        for node in graph.arguments()
    ]
    edges = [
        {
            "source": edge.source,
            "target": edge.target,
            "relation": edge.relation.value,
            "round": edge.round,
        }
        for edge in graph.edges()
    ]
    return {"nodes": nodes, "edges": edges}


def from_json(data: Mapping[str, Any]) -> SceneGraph:
    """Return the graph from the result of `as_json`.

    Raises:
        ValueError: The data is no such graph.
    """
    try:
        motion = next(node for node in data["nodes"] if node["id"] == MOTION)
        graph = SceneGraph(motion["text"])
        for node in data["nodes"]:
            if node["id"] != MOTION:
                if node["side"] not in ("pro", "con"):
                    raise ValueError(f"expected the side pro or con, got {node['side']!r}")
                origin = Origin(node["side"], int(node["round"]), str(node.get("speaker", "")))
                graph.add(int(node["id"]), node["text"], origin)
        for edge in data["edges"]:
            relation = Relation(edge["relation"])
            graph.relate(Edge(edge["source"], edge["target"], relation, int(edge["round"])))
    except (KeyError, TypeError, AttributeError, StopIteration) as error:
        raise ValueError(f"not the graph of a debate: {error!r}") from None
    return graph


def graphml(graph: SceneGraph) -> str:
    """Return GraphML, without the characters that XML does not allow."""
    data = as_json(graph)
    plain: nx.MultiDiGraph = nx.MultiDiGraph()
    for node in data["nodes"]:
        attributes = {"side": "", "speaker": "", "round": 0, **node}
        id_ = attributes.pop("id")
        plain.add_node(id_, **{key: _xml(value) for key, value in attributes.items()})
    for number, edge in enumerate(data["edges"], 1):
        ends = (edge["source"], edge["target"])
        plain.add_edge(*ends, key=f"e{number}", relation=edge["relation"], round=edge["round"])
    return "\n".join(nx.generate_graphml(plain, encoding="utf-8"))


def _xml(value: Any) -> Any:
    return _NOT_XML.sub("", value) if isinstance(value, str) else value
