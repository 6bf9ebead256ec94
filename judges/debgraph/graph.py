"""The scene graph of a debate: arguments, relations, the rounds in which it grows, and its JSON."""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal

from touche_rad.contest import Contest, Side
from touche_rad.frozen import frozen
from touche_rad.text import clean

if TYPE_CHECKING:
    from networkx import MultiDiGraph

Kinds = Literal["like", "literal"]
"""Whether conclusions count as claims and first principles as premises (like), or not (literal)."""
MOTION: Final = 0
"""The id of the motion, the root of the graph."""


class Relation(StrEnum):
    """The five relations of the paper, from the source of an edge to its target."""

    CLAIM = "claim"
    PREMISE = "premise"
    CONCLUSION = "conclusion"
    FIRST_PRINCIPLE = "first principle"
    REBUTTAL = "rebuttal"

    @property
    def attacks(self) -> bool:
        """Whether the source argues against its target; the other relations support it."""
        return self is Relation.REBUTTAL


MEANINGS: Final = {
    "claim": "the source is a main point of its side, for or against the motion; the target is the "
    "motion (0) or a point that it serves",
    "premise": "the source is a reason, fact or example that makes the target credible",
    "conclusion": "the source states what follows from the side's points; the target is the motion "
    "(0) or the point that it confirms",
    "first principle": "the source is a value or general rule on which the target rests",
    "rebuttal": "the source argues against the target, an argument of the other side",
}
"""What each relation means, for the prompts."""


_KIND_ORDER: Final = (
    Relation.CLAIM,
    Relation.CONCLUSION,
    Relation.REBUTTAL,
    Relation.PREMISE,
    Relation.FIRST_PRINCIPLE,
)


CLAIMS: Final[dict[Kinds, set[Relation]]] = {
    "like": {Relation.CLAIM, Relation.CONCLUSION},
    "literal": {Relation.CLAIM},
}
"""The kinds of arguments that count as claims."""
PREMISES: Final[dict[Kinds, set[Relation]]] = {
    "like": {Relation.PREMISE, Relation.FIRST_PRINCIPLE},
    "literal": {Relation.PREMISE},
}
"""The relations that give their target a premise."""


@frozen
class SpeechOrigin:
    """The speech that an argument or a relation comes from."""

    side: Side
    round: int
    speaker: str = ""


@frozen
class ArgumentNode:
    """An argument."""

    id: int
    text: str
    origin: SpeechOrigin

    @property
    def side(self) -> Side:
        """The side that makes the argument."""
        return self.origin.side


@frozen
class Edge:
    """A relation of an argument to another argument or to the motion."""

    source: int
    target: int
    relation: Relation
    round: int = 0


class SceneGraph:
    """The graph of a debate, stored as a networkx graph in `network`."""

    def __init__(self, motion: str) -> None:
        """Create a graph that contains only the motion."""
        from networkx import MultiDiGraph  # it is slow to import

        self.motion = clean(motion)
        self.network: MultiDiGraph = MultiDiGraph()
        self.network.add_node(MOTION)

    def __len__(self) -> int:
        """Count the arguments, without the motion."""
        return int(self.network.number_of_nodes()) - 1

    def __contains__(self, id_: object) -> bool:
        """Whether this is the id of an argument or of the motion."""
        return id_ in self.network

    @property
    def next_id(self) -> int:
        """The first id above all used ids."""
        return int(max(self.network.nodes)) + 1

    def add(self, id_: int, text: str, origin: SpeechOrigin) -> None:
        """Add an argument with a new id."""
        self.network.add_node(id_, argument=ArgumentNode(id_, clean(text), origin))

    def relate(self, edge: Edge) -> None:
        """Add a relation between existing arguments; an existing relation stays unchanged."""
        if not self.network.has_edge(edge.source, edge.target, edge.relation):
            self.network.add_edge(edge.source, edge.target, edge.relation, edge=edge)

    def node(self, id_: int) -> ArgumentNode:
        """Return an argument by its id."""
        node: ArgumentNode = self.network.nodes[id_]["argument"]
        return node

    def side(self, id_: int) -> Side | None:
        """Return the side of an argument; None for the motion."""
        return None if id_ == MOTION else self.node(id_).side

    def arguments(self) -> list[ArgumentNode]:
        """Return the arguments in the order of the debate."""
        return [self.node(id_) for id_ in self.network.nodes if id_ != MOTION]

    def edges(self) -> list[Edge]:
        """Return all relations."""
        return [edge for _, _, edge in self.network.edges(data="edge")]

    def outgoing(self, id_: int) -> list[Edge]:
        """Return the relations of an argument to others."""
        return [edge for _, _, edge in self.network.out_edges(id_, data="edge")]

    def incoming(self, id_: int) -> list[Edge]:
        """Return the relations of others to an argument."""
        return [edge for _, _, edge in self.network.in_edges(id_, data="edge")]

    def kind(self, id_: int) -> Relation:
        """Return the kind of an argument from its outgoing relations.

        The paper labels relations but counts claims, so an argument is named after what it does.
        An argument without an outgoing relation stands on the motion directly: it is a claim.
        """
        relations = {edge.relation for edge in self.outgoing(id_)}
        return next((kind for kind in _KIND_ORDER if kind in relations), Relation.CLAIM)

    def cycles(self) -> list[list[int]]:
        """Return the groups of arguments that support each other in a circle, by smallest id."""
        from networkx import DiGraph, strongly_connected_components

        supports = DiGraph(
            (edge.source, edge.target) for edge in self.edges() if not edge.relation.attacks
        )
        groups = strongly_connected_components(supports)
        return sorted(sorted(group) for group in groups if len(group) > 1)

    def as_json_text(self, indent: int) -> str:
        """Return the graph as JSON, as the paper's prompts show it."""
        arguments: list[dict[str, Any]] = [{"id": MOTION, "text": self.motion}]
        arguments += [
            {
                "id": node.id,
                "text": node.text,
                "attributes": {
                    "side": node.side,
                    "round": node.origin.round,
                    "kind": self.kind(node.id).value if self.outgoing(node.id) else "none",
                },
            }
            for node in self.arguments()
        ]
        relations = [
            {"source": edge.source, "relation": edge.relation.value, "target": edge.target}
            for edge in self.edges()
        ]
        return json.dumps(
            {"arguments": arguments, "relations": relations}, indent=indent, ensure_ascii=False
        )

    def as_lines(self) -> str:
        """Return the graph as one line per argument, which needs fewer tokens than JSON."""
        lines = [f"0 the motion: {quote(self.motion)}"]
        for node in self.arguments():
            edges = self.outgoing(node.id)
            relations = (
                ", ".join(f"{edge.relation} -> {edge.target}" for edge in edges) or "no relation"
            )
            lines.append(
                f"{node.id} {node.side}, round {node.origin.round}: {quote(node.text)} "
                f"[{relations}]"
            )
        return "\n".join(lines)


def quote(text: str) -> str:
    """Return a text as a JSON string, so that it cannot end its own quotation in a prompt."""
    return json.dumps(text, ensure_ascii=False)


@frozen
class RoundSpeech:
    """A speech and its place in the debate."""

    text: str
    origin: SpeechOrigin


def rounds_of(contest: Contest, order: Literal["time", "pro"]) -> list[list[RoundSpeech]]:
    """Return the speeches by round, without empty speeches.

    With `time`, a round ends when a side that has already spoken in it speaks again, so the side
    that spoke first is read first. With `pro`, the paper's loop: round n has the n-th speech of
    pro and then of con; a missing speech is skipped.
    """
    rounds: list[list[RoundSpeech]] = []
    spoken: Counter[Side] = Counter()
    for speech in contest.speeches:
        text = clean(speech.text)
        if not text:
            continue
        side = contest.sides[speech.speaker]
        spoken[side] += 1
        number = len(rounds)
        if order == "pro":
            number = spoken[side]
        elif not rounds or side in [earlier.origin.side for earlier in rounds[-1]]:
            number += 1
        if number > len(rounds):
            rounds.append([])
        rounds[number - 1].append(RoundSpeech(text, SpeechOrigin(side, number, speech.speaker)))
    if order == "pro":
        for in_round in rounds:
            in_round.sort(key=lambda speech: speech.origin.side == "con")
    return rounds


def join_sides(rounds: list[list[RoundSpeech]]) -> list[list[RoundSpeech]]:
    """Return one round in which each side's speeches are one speech."""
    by_side: dict[Side, list[RoundSpeech]] = {}
    for group in rounds:
        for speech in group:
            by_side.setdefault(speech.origin.side, []).append(speech)
    only_round = []
    for side, speeches in by_side.items():
        speakers = {speech.origin.speaker for speech in speeches}
        origin = SpeechOrigin(side, 1, speakers.pop() if len(speakers) == 1 else "")
        only_round.append(RoundSpeech("\n\n".join(speech.text for speech in speeches), origin))
    return [only_round] if only_round else []


def as_json(graph: SceneGraph) -> dict[str, Any]:
    """Return nodes and edges; the motion is the node 0."""
    nodes: list[dict[str, Any]] = [{"id": MOTION, "text": graph.motion, "kind": "motion"}]
    nodes += [
        {
            "id": node.id,
            "text": node.text,
            "kind": graph.kind(node.id).value,
            **vars(node.origin),
        }
        for node in graph.arguments()
    ]
    return {"nodes": nodes, "edges": list(map(vars, graph.edges()))}
