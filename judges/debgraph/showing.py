"""What prompts are made of: their files, quoted texts, and the graph.

The graph is shown as the paper's JSON, or as a line an argument with its relations.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal

from judges.debgraph.graph import MOTION, SceneGraph
from touche_rad.models import Prompt


@cache
def prompt_of(name: str) -> Prompt:
    """Return a prompt of this folder, read once."""
    return Prompt.load(__package__, name)


def quoted(text: str) -> str:
    """Return a text as a JSON string, so that where it ends is never its own to say."""
    return json.dumps(text, ensure_ascii=False)


def shown(graph: SceneGraph, how: Literal["lines", "json"], indent: int) -> str:
    """Return the graph as text; the texts of arguments are quoted in either way."""
    return _as_json(graph, indent) if how == "json" else _as_lines(graph)


def _as_json(graph: SceneGraph, indent: int) -> str:
    arguments: list[dict[str, Any]] = [{"id": MOTION, "text": graph.motion}]
    arguments += [
        {
            "id": node.id, "text": node.text,
            "attributes": {
                "side": node.side, "round": node.stamp.round, "kind": graph.kind(node.id).value,
            },
        }
        for node in graph.arguments()
    ]  # fmt: skip
    relations = [
        {"source": edge.source, "relation": edge.relation.value, "target": edge.target}
        for edge in graph.edges()
    ]
    told = {"arguments": arguments, "relations": relations}
    return json.dumps(told, indent=indent, ensure_ascii=False)


def _as_lines(graph: SceneGraph) -> str:
    lines = [f"0 the motion: {quoted(graph.motion)}"]
    for node in graph.arguments():
        stands = ", ".join(
            f"{edge.relation.value} -> {edge.target}" for edge in graph.leaving(node.id)
        )
        head = f"{node.id} {node.side}, round {node.stamp.round}"
        lines.append(f"{head}: {quoted(node.text)} [{stands or 'claim'}]")
    return "\n".join(lines)
