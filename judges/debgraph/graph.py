"""The scene graph of a debate: arguments, relations, and the rounds in which it grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Final, Literal

import networkx as nx

from touche_rad.contest import Contest, Side
from touche_rad.text import clean

Kinds = Literal["like", "literal"]
"""Whether conclusions count as claims and first principles as premises, or only their namesakes."""


class Relation(StrEnum):
    """What the source of an edge is to its target."""

    CLAIM = "claim"
    PREMISE = "premise"
    CONCLUSION = "conclusion"
    FIRST_PRINCIPLE = "first principle"
    REBUTTAL = "rebuttal"

    @property
    def attacks(self) -> bool:
        """Whether it speaks against its target; all the others speak for it."""
        return self is Relation.REBUTTAL


_MEANINGS = {
    Relation.CLAIM: "the source is a main point; the target is the motion (0) or a point it serves",
    Relation.PREMISE: "the source is a reason, fact or example that makes the target credible",
    Relation.CONCLUSION: "the source is what the side concludes; the target is the motion (0) or "
    "the point it is concluded for",
    Relation.FIRST_PRINCIPLE: "the source is a value or general rule on which the target rests",
    Relation.REBUTTAL: "the source argues against the target, an argument of the other side",
}


def meanings() -> dict[str, str]:
    """Return what each relation means, for a prompt."""
    return {relation.value: meaning for relation, meaning in _MEANINGS.items()}


def kind_of(leaving: Iterable[Relation]) -> Relation:
    """Say what an argument is by the relations that leave it.

    The paper labels relations and counts claims, so an argument takes its name from what it does.
    One that does nothing for another stands on the motion by itself: a claim.
    """
    found = set(leaving)
    order = (
        Relation.CLAIM, Relation.CONCLUSION, Relation.REBUTTAL,
        Relation.PREMISE, Relation.FIRST_PRINCIPLE,
    )  # fmt: skip
    return next((relation for relation in order if relation in found), Relation.CLAIM)


def is_claim(kind: Relation, kinds: Kinds) -> bool:
    """Whether an argument of this kind counts as a claim."""
    return kind is Relation.CLAIM or (kinds == "like" and kind is Relation.CONCLUSION)


def is_premise(relation: Relation, kinds: Kinds) -> bool:
    """Whether this relation gives its target a premise."""
    return relation is Relation.PREMISE or (
        kinds == "like" and relation is Relation.FIRST_PRINCIPLE
    )


MOTION: Final = 0
"""The id of the motion, which every claim stands on in the end."""
SIDES: Final[tuple[Side, Side]] = ("pro", "con")
OTHER: Final[dict[Side, Side]] = {"pro": "con", "con": "pro"}


@dataclass(frozen=True)
class Stamp:
    """Where an argument or a relation came from."""

    side: Side
    round: int
    speaker: str = ""


@dataclass(frozen=True)
class Node:
    """An argument."""

    id: int
    text: str
    stamp: Stamp

    @property
    def side(self) -> Side:
        """Whose it is."""
        return self.stamp.side


@dataclass(frozen=True)
class Edge:
    """What one argument is to another, or to the motion."""

    source: int
    target: int
    relation: Relation
    round: int = 0


class SceneGraph:
    """The graph; `network` is what networkx's own algorithms take."""

    def __init__(self, motion: str) -> None:
        """Begin with the motion alone."""
        self.network: nx.MultiDiGraph = nx.MultiDiGraph()
        self.network.add_node(MOTION, text=clean(motion), stamp=None)

    def __len__(self) -> int:
        """Count the arguments, without the motion."""
        return int(self.network.number_of_nodes()) - 1

    def __contains__(self, id_: object) -> bool:
        """Whether this is the id of an argument or of the motion."""
        return id_ in self.network

    @property
    def motion(self) -> str:
        """What is debated."""
        return str(self.network.nodes[MOTION]["text"])

    @property
    def next_id(self) -> int:
        """The first id above all that are taken."""
        return int(max(self.network.nodes)) + 1

    def add(self, id_: int, text: str, stamp: Stamp) -> None:
        """Add an argument; an id is given once."""
        if id_ in self.network:
            raise ValueError(f"the id {id_} is taken")
        self.network.add_node(id_, text=clean(text), stamp=stamp)

    def relate(self, edge: Edge) -> None:
        """Add a relation between what is there; one that is there already stays as it was."""
        for end in (edge.source, edge.target):
            if end not in self.network:
                raise ValueError(f"there is no argument {end}")
        if not self.network.has_edge(edge.source, edge.target, edge.relation):
            self.network.add_edge(edge.source, edge.target, edge.relation, round=edge.round)

    def node(self, id_: int) -> Node:
        """Return an argument by its id."""
        its = self.network.nodes[id_]
        return Node(id_, its["text"], its["stamp"])

    def side(self, id_: int) -> Side | None:
        """Whose an argument is; the motion is nobody's."""
        stamp = self.network.nodes[id_]["stamp"]
        return stamp.side if stamp else None

    def arguments(self, side: Side | None = None) -> Iterator[Node]:
        """Yield the arguments of a side, or of both, in the order in which they came."""
        for id_ in self.network.nodes:
            if id_ != MOTION and (side is None or self.side(id_) == side):
                yield self.node(id_)

    def edges(self) -> Iterator[Edge]:
        """Yield the relations."""
        for source, target, relation, its in self.network.edges(keys=True, data=True):
            yield Edge(source, target, Relation(relation), its["round"])

    def leaving(self, id_: int) -> list[Edge]:
        """Return what an argument is to others."""
        found = self.network.out_edges(id_, keys=True, data="round")
        return [Edge(id_, target, Relation(name), number) for _, target, name, number in found]

    def entering(self, id_: int) -> list[Edge]:
        """Return what others are to an argument."""
        found = self.network.in_edges(id_, keys=True, data="round")
        return [Edge(source, id_, Relation(name), number) for source, _, name, number in found]

    def kind(self, id_: int) -> Relation:
        """What an argument is by the relations that leave it."""
        return kind_of(edge.relation for edge in self.leaving(id_))

    def circles(self) -> list[list[int]]:
        """Return the groups of arguments that support each other in a circle, smallest id first."""
        supports: nx.DiGraph = nx.DiGraph()
        supports.add_edges_from(
            (edge.source, edge.target) for edge in self.edges() if not edge.relation.attacks
        )
        groups = [sorted(group) for group in nx.strongly_connected_components(supports)]
        return sorted(group for group in groups if len(group) > 1)


def chain(graph: SceneGraph, id_: int) -> list[int]:
    """Return what a reader follows from one argument, itself included.

    All that supports it, step by step; what it serves, up to the motion; and on either way what
    attacks, or is attacked, one step from it. Of the motion, the claims that stand on it.
    """
    if id_ == MOTION:
        return sorted({MOTION, *(edge.source for edge in graph.entering(MOTION))})
    own = {id_, *_along(graph, id_, up=True), *_along(graph, id_, up=False)}
    near = {edge.source for one in own for edge in graph.entering(one) if edge.relation.attacks}
    near |= {edge.target for one in own for edge in graph.leaving(one) if edge.relation.attacks}
    return sorted(own | near)


def _along(graph: SceneGraph, start: int, *, up: bool) -> set[int]:
    found: set[int] = set()
    left = [start]
    while left:
        here = left.pop()
        for edge in graph.leaving(here) if up else graph.entering(here):
            end = edge.target if up else edge.source
            if not edge.relation.attacks and end not in found:
                found.add(end)
                left.append(end)
    return found


@dataclass(frozen=True)
class Heard:
    """A speech, and where in the debate it stands."""

    text: str
    stamp: Stamp


def rounds_of(contest: Contest, order: Literal["time", "pro"]) -> list[list[Heard]]:
    """Return the speeches by rounds; one that says nothing is left out.

    With `time`, a round ends when a side that has spoken in it speaks again, so that whoever spoke
    first is read first. With `pro`, the paper's loop: each side's first speeches are a round, then
    the second ones, pro before con. A half that is missing is left out.
    """
    said = [
        (contest.sides[speech.speaker], speech.speaker, clean(speech.text))
        for speech in contest.speeches
    ]
    said = [one for one in said if one[2]]
    grouped: list[list[tuple[Side, str, str]]] = []
    if order == "pro":
        pros, cons = ([one for one in said if one[0] == side] for side in SIDES)
        grouped = [[one for one in pair if one] for pair in zip_longest(pros, cons)]
    else:
        for one in said:
            if not grouped or any(one[0] == before[0] for before in grouped[-1]):
                grouped.append([])
            grouped[-1].append(one)
    return [
        [Heard(text, Stamp(side, number, speaker)) for side, speaker, text in group]
        for number, group in enumerate(grouped, 1)
    ]


def at_once(rounds: list[list[Heard]]) -> list[list[Heard]]:
    """Return one round with all that each side said, for a graph that is not grown by rounds."""
    heard = [one for group in rounds for one in group]
    sides: dict[Side, list[Heard]] = {}
    for one in heard:
        sides.setdefault(one.stamp.side, []).append(one)
    return [
        [
            Heard(
                "\n\n".join(one.text for one in said),
                Stamp(side, 1, _only({one.stamp.speaker for one in said})),
            )
            for side, said in sides.items()
        ]
    ] if heard else []  # fmt: skip


def _only(speakers: set[str]) -> str:
    return speakers.pop() if len(speakers) == 1 else ""
