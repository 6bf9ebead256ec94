"""Merging what one speech adds into the debate's graph: what is wrong with it, and what is left.

Ids are given by this code, sides by whose speech it was. A draft is read once: each fault is told,
and what can be kept without guessing is kept, so that a caller may ask again or go on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from judges.debgraph.drafts import Draft, DraftRelation
from judges.debgraph.graph import MOTION, OTHER, Edge, SceneGraph, Stamp
from judges.debgraph.relations import Relation
from touche_rad.text import clean


@dataclass
class Reading:
    """A draft as it can be merged."""

    arguments: dict[int, str] = field(default_factory=dict)
    """New ids, free in the graph, with their texts."""
    relations: list[Edge] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What was wrong with the draft, in words for the model."""

    @property
    def valid(self) -> bool:
        """Whether the draft was right as it came."""
        return not self.faults


def read(draft: Draft, graph: SceneGraph, stamp: Stamp) -> Reading:
    """Check a draft against the graph, and keep what stands."""
    reading = Reading()
    meant = _named(draft, graph, reading)
    ids = _Ids(graph, stamp, meant, reading)
    for relation in draft.relations:
        edge = ids.edge(relation)
        if edge is not None and edge not in reading.relations:
            reading.relations.append(edge)
    return reading


def merge(reading: Reading, graph: SceneGraph, stamp: Stamp) -> None:
    """Add to the graph what a reading kept (MG in the paper's first algorithm)."""
    for id_, text in reading.arguments.items():
        graph.add(id_, text, stamp)
    for edge in reading.relations:
        graph.relate(edge)


def _named(draft: Draft, graph: SceneGraph, reading: Reading) -> dict[int, int]:
    """Number the new arguments, and return which id of the draft means which of the graph."""
    there = {_plain(node.text): node.id for node in graph.arguments()}
    meant: dict[int, int] = {}
    free = graph.next_id
    for one in draft.arguments:
        text = clean(one.text)
        same = there.get(_plain(text))
        if not text:
            reading.faults.append(f"argument {one.id} has no text")
        elif one.id in meant:
            reading.faults.append(f"the id {one.id} is given twice")
        elif same is not None:
            meant[one.id] = same
            reading.faults.append(f"argument {one.id} is there already: refer to it by its id")
        else:
            if one.id in graph:
                reading.faults.append(f"the id {one.id} is taken: give new arguments new ids")
            meant[one.id] = there[_plain(text)] = free
            reading.arguments[free] = text
            free += 1
    return meant


@dataclass
class _Ids:
    """What the ends of a draft's relations mean."""

    graph: SceneGraph
    stamp: Stamp
    meant: dict[int, int]
    reading: Reading

    def edge(self, told: DraftRelation) -> Edge | None:
        """Return the relation, or None where it cannot stand; why is among the faults."""
        relation = told.kind
        source = self.meant.get(told.source, told.source)
        target = self._target(told)
        wrong = self._missing(told, source, target) or self._wrong(source, target, relation)
        on_motion = relation.attacks and target == MOTION
        if on_motion and wrong is None:
            self._tell(told, "an argument on the motion (0) itself is a claim")
            relation = Relation.CLAIM
        if wrong is not None:
            self._tell(told, wrong)
            return None
        return Edge(source, target, relation, self.stamp.round)

    def _missing(self, told: DraftRelation, source: int, target: int) -> str | None:
        ends = ((told.source, source), (told.target, target))
        missing = [
            str(said)
            for said, end in ends
            if end not in self.graph and end not in self.reading.arguments
        ]
        return f"there is no argument {' or '.join(missing)}" if missing else None

    def _wrong(self, source: int, target: int, relation: Relation) -> str | None:
        """Why a relation cannot stand; a side speaks for itself alone."""
        own, other = self.stamp.side, OTHER[self.stamp.side]
        if source == target:
            return "an argument cannot be related to itself"
        if source == MOTION:
            return "the motion (0) can only be a target"
        if self._side(source) != own:
            return "the source must be an argument of your own side"
        if relation.attacks and self._side(target) == own:
            return "a rebuttal must have a target of the other side"
        if not relation.attacks and self._side(target) == other:
            return "only a rebuttal may have a target of the other side"
        return None

    def _target(self, told: DraftRelation) -> int:
        """What a target means: a taken id that was given anew is the opponent's in a rebuttal."""
        if told.kind.attacks and told.target in self.graph:
            return told.target
        return self.meant.get(told.target, told.target)

    def _side(self, id_: int) -> str | None:
        return self.stamp.side if id_ in self.reading.arguments else self.graph.side(id_)

    def _tell(self, told: DraftRelation, why: str) -> None:
        self.reading.faults.append(f"{told.source} {told.relation} {told.target}: {why}")


def _plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum()) or text
