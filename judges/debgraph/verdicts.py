"""Factuality of arguments and persuasion of clashing pairs, asked for one by one or in batches."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, create_model

from judges.debgraph.graph import Node, SceneGraph
from judges.debgraph.options import Options
from judges.debgraph.showing import prompt_of, quoted
from touche_rad.contest import Side
from touche_rad.models import Model, ModelError
from touche_rad.models.output import Line, Page
from touche_rad.text import clean, cut_to_words

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Return the items in as few groups as their size allows, in order and of like length."""
    if not items:
        return []
    count = -(-len(items) // size)
    ends = [len(items) * number // count for number in range(count + 1)]
    return [items[begin:end] for begin, end in pairwise(ends)]


def at_most(count: int) -> dict[str, JsonValue]:
    """Return the bounds of a list, for a server that decodes by them; an answer may differ."""
    return {"minItems": count, "maxItems": count}


def _lowered(told: Any) -> Any:
    """`Pro` is pro, and JSON's true is "true"."""
    return str(told).strip().lower() if isinstance(told, (str, bool)) else told


def _share(told: Any) -> Any:
    """A percentage is a probability: what is above 1 can be nothing else."""
    try:
        value = float(str(told).strip().removesuffix("%"))
    except ValueError:
        return told
    return value / 100 if value > 1 or str(told).strip().endswith("%") else value


TrueOrFalse = Annotated[Literal["true", "false"], BeforeValidator(_lowered)]
ProOrCon = Annotated[Literal["pro", "con"], BeforeValidator(_lowered)]
ProConOrTie = Annotated[Literal["pro", "con", "tie"], BeforeValidator(_lowered)]
Confidence = Annotated[float, Field(ge=0, le=1), BeforeValidator(_share)]
"""How sure the model says it is."""


V = TypeVar("V", bound=BaseModel)

BATCH_WORDS: Final = 30
"""Words of feedback on each, where many are asked for at once."""


class Verdicts(Generic[V]):
    """How one kind of verdict is asked for."""

    def __init__(self, bare: type[V], *, name: str, number: str, prompt: str, step: str) -> None:
        """Make the schemas.

        Args:
            bare: The verdict without feedback.
            name: What it is called with feedback.
            number: The field that says what a verdict among many is on.
            prompt: The prompt's name.
            step: What the calls are counted under.
        """
        self._name, self._number, self._prompt, self._step = name, number, prompt, step
        make: Any = create_model
        numbered = make(
            f"Numbered{bare.__name__}", __base__=bare, **{number: (int, ...)},
            __doc__=f"A verdict on what has this {number}.",
        )  # fmt: skip
        said = f"{bare.__doc__} With feedback."
        self._alone: dict[bool, type[V]] = {
            False: bare, True: make(name, __base__=bare, feedback=(Page, ""), __doc__=said)
        }  # fmt: skip
        self._among: dict[bool, type[V]] = {
            False: numbered,
            True: make(
                f"Numbered{name}", __base__=numbered, feedback=(Line, ""),
                __doc__=f"{numbered.__doc__} With feedback.",
            ),
        }  # fmt: skip

    async def ask(
        self, model: Model, options: Options, numbers: Sequence[int], **shown: Any
    ) -> dict[int, V]:
        """Return the verdicts by number, the first of each; some may be missing.

        Args:
            model: The model.
            options: Whether each is asked about by itself, and whether feedback is wanted.
            numbers: What a verdict may be on.
            shown: What the prompt shows besides.
        """
        each, wanted = options.ask == "each", options.feedback != "none"
        words = options.feedback_words if each else min(BATCH_WORDS, options.feedback_words)
        messages = prompt_of(self._prompt).messages(
            each=each, words=words if wanted else 0, **shown
        )
        if each:
            return {numbers[0]: await model.ask(messages, self._alone[wanted], step=self._step)}
        item: Any = self._among[wanted]
        bounds = Field(json_schema_extra=at_most(len(numbers)))
        schema: Any = create_model(f"{self._name}s", verdicts=(list[item], bounds))
        answer: Any = await model.ask(messages, schema, step=self._step)
        first: dict[int, V] = {}
        for one in answer.verdicts:
            first.setdefault(getattr(one, self._number), one)
        return first


class FactLabel(BaseModel):
    """Whether an argument is true, and how sure that is."""

    label: TrueOrFalse
    confidence: Confidence


_FACT_VERDICTS: Final = Verdicts(
    FactLabel, name="FactVerdict", number="id", prompt="facts", step="debgraph.fact"
)


@dataclass(frozen=True)
class Fact:
    """What was found of one argument; without a label, `fault` says why there is none."""

    id: int
    side: Side
    label: bool | None = None
    confidence: float = 0.0
    feedback: str = ""
    fault: str = ""

    @property
    def product(self) -> float | None:
        """The label times the confidence: what is false earns nothing, however sure."""
        return None if self.label is None else float(self.label) * self.confidence


class FactCheck:
    """Asks of each argument, alone or with others."""

    def __init__(self, model: Model, options: Options, info: str) -> None:
        self._model, self._options, self._info = model, options, info

    async def check(self, graph: SceneGraph) -> list[Fact]:
        """Return a verdict on each argument of the graph."""
        nodes = list(graph.arguments())
        size = 1 if self._options.ask == "each" else self._options.batch
        groups = batches(nodes, size)
        found = await self._model.ask_all([partial(self._asked, graph, group) for group in groups])
        facts: list[Fact] = []
        for group, answer in zip(groups, found, strict=True):
            if isinstance(answer, ModelError):
                facts += [Fact(node.id, node.side, fault=str(answer)) for node in group]
            else:
                facts += [self._fact(node, answer.get(node.id)) for node in group]
        return facts

    def _fact(self, node: Node, told: FactLabel | None) -> Fact:
        if told is None:
            return Fact(node.id, node.side, fault="the model said nothing on this argument")
        label = told.label == "true"
        said = "" if label else clean(str(getattr(told, "feedback", "")))
        words = self._options.feedback_words
        return Fact(node.id, node.side, label, told.confidence, cut_to_words(said, words))

    async def _asked(self, graph: SceneGraph, group: Sequence[Node]) -> dict[int, FactLabel]:
        return await _FACT_VERDICTS.ask(
            self._model, self._options, [node.id for node in group],
            motion=quoted(graph.motion), info=self._info,
            arguments=[{"id": node.id, "text": quoted(node.text)} for node in group],
        )  # fmt: skip


Winner = Literal["pro", "con", "split"]


class PairWinner(BaseModel):
    """Which side's argument is more persuasive."""

    winner: ProOrCon


_PAIR_VERDICTS: Final = Verdicts(
    PairWinner, name="PairVerdict", number="pair", prompt="pairs", step="debgraph.pair"
)


@dataclass(frozen=True)
class Pair:
    """An argument of either side that a rebuttal joins, and who answers whom."""

    pro: int
    con: int
    answering: frozenset[Side]


@dataclass(frozen=True)
class Clash:
    """What was found of a pair; `split` where the two orders disagree."""

    pair: Pair
    winner: Winner | None = None
    feedback: str = ""
    fault: str = ""

    def share(self, side: Side) -> float | None:
        """What a side gets of the pair."""
        if self.winner is None:
            return None
        return 0.5 if self.winner == "split" else float(self.winner == side)


def pairs_of(graph: SceneGraph, how: Literal["once", "edges"]) -> list[Pair]:
    """Return the rebuttal pairs, in the order in which they came about."""
    found: list[Pair] = []
    for edge in graph.edges():
        if not edge.relation.attacks:
            continue
        side: Side = graph.node(edge.source).side
        ends = (edge.source, edge.target) if side == "pro" else (edge.target, edge.source)
        found.append(Pair(*ends, frozenset({side})))
    if how == "edges":
        return found
    joined: dict[tuple[int, int], Pair] = {}
    for pair in found:
        ends = (pair.pro, pair.con)
        before = joined.get(ends, pair)
        joined[ends] = replace(pair, answering=before.answering | pair.answering)
    return list(joined.values())


def pro_first(seed: int, pro: str, con: str) -> bool:
    """Whether the pro argument is shown first, by chance and not by its side.

    The same two texts come in the same order when their sides are exchanged.
    """
    low, high = sorted((pro, con))
    drawn = hashlib.sha256(f"{seed}\0{low}\0{high}".encode("utf-8", "replace")).digest()[0] % 2
    return (pro == low) == (drawn == 0)


class Comparison:
    """Asks of each pair, alone or with others, in one order or in both."""

    def __init__(self, model: Model, options: Options, info: str, seed: int) -> None:
        self._model, self._options, self._info, self._seed = model, options, info, seed

    async def compare(self, graph: SceneGraph) -> list[Clash]:
        """Return a verdict on each pair of the graph."""
        pairs = pairs_of(graph, self._options.pairs)
        first = [self._pro_first(graph, pair) for pair in pairs]
        found = await self._in_order(graph, pairs, first)
        if self._options.order != "both":
            return found
        other = await self._in_order(graph, pairs, [not one for one in first])
        return [_of_both(one, two) for one, two in zip(found, other, strict=True)]

    def _pro_first(self, graph: SceneGraph, pair: Pair) -> bool:
        if self._options.order != "random":
            return True
        return pro_first(self._seed, graph.node(pair.pro).text, graph.node(pair.con).text)

    async def _in_order(
        self, graph: SceneGraph, pairs: Sequence[Pair], first: Sequence[bool]
    ) -> list[Clash]:
        size = 1 if self._options.ask == "each" else self._options.batch
        groups = batches(list(zip(pairs, first, strict=True)), size)
        found = await self._model.ask_all([partial(self._asked, graph, group) for group in groups])
        clashes: list[Clash] = []
        for group, answer in zip(groups, found, strict=True):
            for number, (pair, _) in enumerate(group, 1):
                if isinstance(answer, ModelError):
                    clashes.append(Clash(pair, fault=str(answer)))
                else:
                    clashes.append(self._clash(pair, answer.get(number)))
        return clashes

    def _clash(self, pair: Pair, told: PairWinner | None) -> Clash:
        if told is None:
            return Clash(pair, fault="the model said nothing on this pair")
        said = clean(str(getattr(told, "feedback", "")))
        return Clash(pair, told.winner, cut_to_words(said, self._options.feedback_words))

    async def _asked(
        self, graph: SceneGraph, group: Sequence[tuple[Pair, bool]]
    ) -> dict[int, PairWinner]:
        return await _PAIR_VERDICTS.ask(
            self._model, self._options, range(1, len(group) + 1),
            motion=quoted(graph.motion), info=self._info,
            pairs=[
                {"number": number, "arguments": _in_turn(graph, pair, pro_is_first)}
                for number, (pair, pro_is_first) in enumerate(group, 1)
            ],
        )  # fmt: skip


def _in_turn(graph: SceneGraph, pair: Pair, pro_is_first: bool) -> list[dict[str, Any]]:
    ends: list[tuple[Side, int]] = [("pro", pair.pro), ("con", pair.con)]
    return [
        {"side": side, "text": quoted(graph.node(id_).text), "answers": side in pair.answering}
        for side, id_ in (ends if pro_is_first else ends[::-1])
    ]


def _of_both(one: Clash, two: Clash) -> Clash:
    """A pair that was asked in both orders; who wins in one alone wins half of it."""
    if one.winner is None or two.winner is None:
        return one if one.winner is None else replace(two, feedback=one.feedback)
    return one if one.winner == two.winner else replace(one, winner="split")
