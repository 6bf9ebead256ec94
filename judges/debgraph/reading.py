"""Read a speech into the graph: ask for a draft, check it, merge it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from judges.debgraph.graph import MOTION, OTHER, Edge, Heard, Relation, SceneGraph, Stamp, meanings
from judges.debgraph.options import Options
from judges.debgraph.showing import prompt_of, quoted, shown
from touche_rad.models import Message, Model, ModelError
from touche_rad.models.errors import InvalidAnswer, Truncated
from touche_rad.models.output import Line
from touche_rad.text import clean


class DraftArgument(BaseModel):
    """An argument that a speech makes."""

    model_config = ConfigDict(extra="forbid")

    id: int
    text: Line


class DraftRelation(BaseModel):
    """What one argument is to another."""

    model_config = ConfigDict(extra="forbid")

    source: int
    relation: Literal["claim", "premise", "conclusion", "first principle", "rebuttal"]
    target: int

    @property
    def kind(self) -> Relation:
        """The relation by its name."""
        return Relation(self.relation)


class Draft(BaseModel):
    """A graph that is not yet checked against the debate's; no field may be added to it."""

    model_config = ConfigDict(extra="forbid")

    arguments: list[DraftArgument]
    relations: list[DraftRelation]
    explanation: Line = ""


@cache
def draft_schema(most: int, first: int = 1) -> type[Draft]:
    """Return the schema with the most arguments that a server is told of; 0 tells of no bound.

    Where there is a bound, a server is told too which ids can be: the first that is free, and as
    many as may come. A server that decodes by the schema stops there; an answer with more is not
    refused, but read by the rules of the graph.
    """
    if not most:
        return create_model("SceneGraph", __base__=Draft)
    argument = create_model(
        "DraftArgument", __base__=DraftArgument, id=(_within(first, first + most - 1), ...)
    )
    relation = create_model(
        "DraftRelation",
        __base__=DraftRelation,
        source=(_within(1, first + most - 1), ...),
        target=(_within(MOTION, first + most - 1), ...),
    )
    return create_model(
        "SceneGraph",
        __base__=Draft,
        arguments=(_listed(argument, most), ...),
        relations=(_listed(relation, most + most // 4), ...),
    )


def _within(least: int, most: int) -> Any:
    return Annotated[int, Field(json_schema_extra={"minimum": least, "maximum": most})]


def _listed(kind: Any, most: int) -> Any:
    return Annotated[list[kind], Field(json_schema_extra={"maxItems": most})]


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


INDENT: Final = 2
MOST_AFTER_CUT: Final = 20
"""Half of it is asked for where an answer without a bound was cut off."""
FEWEST_WORDS: Final = 50
_LONGEST_FAULT: Final = 300


@dataclass(frozen=True)
class Read:
    """What became of one speech."""

    heard: Heard
    added: tuple[int, ...] = ()
    relations: tuple[Relation, ...] = ()
    asked: int = 0
    """How often the graph of this speech was asked for."""
    faults: tuple[str, ...] = ()
    degraded: bool = False
    """Whether the speech left nothing in the graph because of faults."""
    shortened: bool = False
    """Whether the model had no room for all of the speech."""
    explanation: str = ""


class SpeechReader:
    """Reads speeches into a graph, one after the other."""

    def __init__(self, model: Model, options: Options, info: str) -> None:
        """Take what is the same for all speeches of a debate."""
        self._model, self._options, self._info = model, options, info

    async def take(self, graph: SceneGraph, heard: Heard, thoughts: Sequence[str]) -> Read:
        """Ask for what a speech adds until it can be merged, and merge it."""
        counters = self._options.counter and len(graph) > 0
        known = graph if counters else SceneGraph(graph.motion)
        told, most = Read(heard), self._options.most
        for asked in range(1, self._options.retry_cap + 2):
            again = _again(told.faults) if asked > 1 else ()
            told = replace(told, asked=asked)
            ladder = _Ladder(self._versions(known, heard, thoughts, counters), again)
            try:
                draft = await self._model.ask(
                    ladder.first, draft_schema(most, known.next_id), shorten=ladder.shorter,
                    step="debgraph.counter" if counters else "debgraph.graph",
                )  # fmt: skip
            except InvalidAnswer as error:
                told = replace(told, faults=(str(error)[:_LONGEST_FAULT],))
                continue
            except Truncated:
                most = max(1, (most or MOST_AFTER_CUT) // 2)
                told = replace(told, faults=(f"it was cut off: draw {most} new arguments at most",))
                continue
            except ModelError as error:
                return replace(told, faults=(str(error),), degraded=True)
            reading = read(draft, known, heard.stamp)
            told = replace(
                told, faults=tuple(reading.faults), explanation=clean(draft.explanation),
                shortened=ladder.short,
            )  # fmt: skip
            if reading.valid or (self._options.faulty == "mend" and _holds(reading, draft)):
                return _merged(reading, graph, known, told)
        return replace(told, degraded=True)

    def _versions(
        self, graph: SceneGraph, heard: Heard, thoughts: Sequence[str], counters: bool
    ) -> Iterator[tuple[bool, tuple[Message, ...]]]:
        """Yield the prompt, then shorter ones, each with whether it lacks some of the speech."""
        yield False, self._messages(graph, heard, heard.text, thoughts, counters)
        if counters and self._options.show == "json":
            yield False, self._messages(graph, heard, heard.text, thoughts, counters, "lines")
        words = heard.text.split()
        while len(words) > FEWEST_WORDS:
            words = words[: len(words) // 2]
            said = " ".join(words)
            yield True, self._messages(graph, heard, said, thoughts, counters, "lines")

    def _messages(
        self, graph: SceneGraph, heard: Heard, speech: str, thoughts: Sequence[str],
        counters: bool, show: Literal["lines", "json"] | None = None,
    ) -> tuple[Message, ...]:  # fmt: skip
        side = heard.stamp.side
        values = {
            "relations": meanings(), "example": _example(), "motion": quoted(graph.motion),
            "info": self._info, "side": side, "speech": quoted(speech),
            "most": self._options.most, "thoughts": [quoted(one) for one in thoughts],
        }  # fmt: skip
        if not counters:
            return prompt_of("graph").messages(**values)
        return prompt_of("counter").messages(
            **values, other=OTHER[side], next_id=graph.next_id,
            graph=shown(graph, show or self._options.show, INDENT),
        )  # fmt: skip


class _Ladder:
    """The versions of a prompt, longest first, each with what was wrong with earlier answers."""

    def __init__(
        self, versions: Iterator[tuple[bool, tuple[Message, ...]]], again: tuple[Message, ...]
    ) -> None:
        self._versions, self._again = versions, again
        self.short, first = next(versions)
        self.first = (*first, *again)

    def shorter(self, _: Sequence[Message]) -> Sequence[Message] | None:
        found = next(self._versions, None)
        if found is None:
            return None
        self.short, messages = found
        return (*messages, *self._again)


def _merged(reading: Reading, graph: SceneGraph, known: SceneGraph, told: Read) -> Read:
    if known is not graph:
        reading = _moved(reading, graph.next_id - known.next_id)
    merge(reading, graph, told.heard.stamp)
    relations = tuple(edge.relation for edge in reading.relations)
    return replace(told, added=tuple(reading.arguments), relations=relations)


def _holds(reading: Reading, draft: Draft) -> bool:
    """Whether something is left of a draft that had something."""
    return bool(reading.arguments or reading.relations) or not (draft.arguments or draft.relations)


def _again(faults: Sequence[str]) -> tuple[Message, ...]:
    """What is said when a graph is asked for again."""
    return prompt_of("again").messages(faults=faults[:8])


def _moved(reading: Reading, by: int) -> Reading:
    """Give a graph that was read by itself the next free ids of the whole."""
    return Reading(
        {id_ + by: text for id_, text in reading.arguments.items()},
        [
            replace(edge, source=edge.source + by, target=edge.target and edge.target + by)
            for edge in reading.relations
        ],
        reading.faults,
    )


def _example() -> str:
    return files(__package__).joinpath("example.json").read_text("utf-8").strip()
