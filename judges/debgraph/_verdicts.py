"""Ask whether each argument is true, and which argument of each rebuttal is more persuasive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field, create_model

from judges.debgraph._options import Options
from judges.debgraph.graph import SceneGraph, quote
from touche_rad.contest import Side
from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.models import Model, Prompt, ask_in_parts
from touche_rad.models.output import Page, Remark, schema_limits
from touche_rad.text import clean, cut_to_words, digest_of_text

FEEDBACK_WORDS: Final = 250
"""Words of one piece of feedback, as in the paper."""
BATCH_FEEDBACK_WORDS: Final = 30
"""Words of one piece of feedback if one call asks for many."""
MAX_TOKENS: Final = 2_048
"""Token limit of an answer."""


def _probability(value: object) -> object:
    """Read a percentage, or any number above 1, as a probability."""
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return value
    return number / 100 if number > 1 or text.endswith("%") else number


TrueOrFalse = Literal["true", "false"]
Confidence = Annotated[float, Field(ge=0, le=1), BeforeValidator(_probability)]


class _Question(NamedTuple):
    """One kind of verdict: its prompt and the keys of its JSON object."""

    prompt: str
    step: str
    schema: str
    number: str
    """The key that says which argument or pair a verdict in a list is about."""
    keys: Mapping[str, Any]


_FACT: Final = _Question(
    "facts", "debgraph.fact", "FactVerdict", "id", {"label": TrueOrFalse, "confidence": Confidence}
)
_PAIR: Final = _Question("pairs", "debgraph.pair", "PairVerdict", "pair", {"winner": Side})


async def _ask_all(
    model: Model,
    options: Options,
    info: str,
    graph: SceneGraph,
    question: _Question,
    subjects: Sequence[T],
    describe: Callable[[Sequence[T]], dict[int, Mapping[str, Any]]],
) -> list[Any]:
    """Return the verdict on each argument or pair, or a text that says why there is none."""
    each = options.ask == "each"
    words = FEEDBACK_WORDS if each else BATCH_FEEDBACK_WORDS
    if options.feedback == "none":
        words = 0

    async def ask(group: Sequence[T]) -> list[object]:
        numbered = describe(group)
        messages = Prompt.load(__package__, question.prompt).messages(
            motion=quote(graph.motion), info=info, each=each, words=words, items=numbered
        )

        # The schema of one verdict, or of a list of verdicts with the numbers that they are on.
        keys: dict[str, Any] = {}
        if not each:
            limits = schema_limits(minimum=min(numbered), maximum=max(numbered))
            keys[question.number] = (int, limits)
        if words:  # first, so that the verdict follows from the reason
            keys["feedback"] = (Page if each else Remark, "")
        keys |= question.keys
        kind: Any = create_model(question.schema, **keys)
        schema: type[BaseModel] = kind
        if not each:
            count = len(numbered)
            exact = schema_limits(minItems=count, maxItems=count)
            schema = create_model(f"{question.schema}s", verdicts=(list[kind], exact))
        answer: Any = await model.ask(messages, schema, step=question.step, max_tokens=MAX_TOKENS)
        if each:
            return [answer]
        by_number: dict[int, Any] = {}
        for verdict in answer.verdicts:
            by_number.setdefault(dict(verdict)[question.number], verdict)
        return [by_number.get(number, "the model gave no verdict on it") for number in numbered]

    return await ask_in_parts(subjects, 1 if each else options.batch, ask, lambda _, fault: fault)


def _feedback(verdict: BaseModel) -> str:
    return cut_to_words(clean(dict(verdict).get("feedback", "")), FEEDBACK_WORDS)


@frozen
class Fact:
    """The verdict on an argument; without a label, `fault` says why."""

    id: int
    side: Side
    label: bool | None = None
    confidence: float = 0.0
    feedback: str = ""
    fault: str = ""

    @property
    def product(self) -> float | None:
        """The label times the confidence: a false argument scores 0, however sure the model is."""
        return None if self.label is None else float(self.label) * self.confidence


async def check_facts(model: Model, options: Options, info: str, graph: SceneGraph) -> list[Fact]:
    """Return a verdict on each argument of the graph; feedback is kept only on false ones."""
    nodes = graph.arguments()
    verdicts = await _ask_all(
        model,
        options,
        info,
        graph,
        _FACT,
        nodes,
        lambda group: {node.id: {"text": quote(node.text)} for node in group},
    )
    facts = []
    for node, verdict in zip(nodes, verdicts, strict=True):
        if isinstance(verdict, str):
            facts.append(Fact(node.id, node.side, fault=verdict))
        else:
            label = verdict.label == "true"
            feedback = "" if label else _feedback(verdict)
            facts.append(Fact(node.id, node.side, label, verdict.confidence, feedback))
    return facts


@frozen
class RebuttalPair:
    """Two arguments joined by a rebuttal, and the sides that rebut."""

    pro: int
    con: int
    answering: frozenset[Side]


@frozen
class Clash:
    """The verdict on a pair; `split` if the two orders disagree."""

    pair: RebuttalPair
    winner: Literal["pro", "con", "split"] | None = None
    feedback: str = ""
    fault: str = ""

    def share(self, side: Side) -> float:
        """Return a side's share of the pair, if it has a winner."""
        return 0.5 if self.winner == "split" else float(self.winner == side)

    def join(self, reversed_clash: Clash) -> Clash:
        """Join the verdicts from both orders; a side that wins in one order only gets half."""
        if self.winner is None:
            return self
        if reversed_clash.winner is None:
            return replace(reversed_clash, feedback=self.feedback)
        return self if self.winner == reversed_clash.winner else replace(self, winner="split")


def pairs_of(graph: SceneGraph, how: Literal["once", "edges"]) -> list[RebuttalPair]:
    """Return the pairs of each rebuttal, or each pair once, in the order of the debate."""
    pairs: list[RebuttalPair] = []
    for edge in graph.edges():
        if edge.relation.attacks:
            side: Side = graph.node(edge.source).side
            ends = (edge.source, edge.target) if side == "pro" else (edge.target, edge.source)
            pairs.append(RebuttalPair(*ends, frozenset({side})))
    if how == "edges":
        return pairs
    by_ends: dict[tuple[int, int], RebuttalPair] = {}
    for pair in pairs:
        earlier = by_ends.get((pair.pro, pair.con), pair)
        by_ends[pair.pro, pair.con] = replace(pair, answering=earlier.answering | pair.answering)
    return list(by_ends.values())


def pro_first(seed: int, pro: str, con: str) -> bool:
    """Choose at random, by the texts and the seed, whether the pro argument is shown first.

    If the sides are exchanged, the same two texts are shown in the same order.
    """
    low, high = sorted((pro, con))
    is_even = int(digest_of_text(f"{seed}\0{low}\0{high}", 2), 16) % 2 == 0
    return (pro == low) == is_even


async def compare_pairs(
    model: Model, options: Options, info: str, graph: SceneGraph, seed: int
) -> list[Clash]:
    """Return a verdict on each pair of the graph, from one order of its arguments or from both."""
    pairs = pairs_of(graph, options.pairs)
    pro_begins = [
        options.order != "random"
        or pro_first(seed, graph.node(pair.pro).text, graph.node(pair.con).text)
        for pair in pairs
    ]

    def describe(group: Sequence[tuple[RebuttalPair, bool]]) -> dict[int, Mapping[str, Any]]:
        described: dict[int, Mapping[str, Any]] = {}
        for number, (pair, pro_is_first) in enumerate(group, 1):
            ends: list[tuple[Side, int]] = [("pro", pair.pro), ("con", pair.con)]
            arguments = [
                {
                    "side": side,
                    "text": quote(graph.node(id_).text),
                    "answers": side in pair.answering,
                }
                for side, id_ in ends
            ]
            described[number] = {"arguments": arguments if pro_is_first else arguments[::-1]}
        return described

    async def compare(pro_is_first: Sequence[bool]) -> list[Clash]:
        verdicts = await _ask_all(
            model,
            options,
            info,
            graph,
            _PAIR,
            list(zip(pairs, pro_is_first, strict=True)),
            describe,
        )
        return [
            Clash(pair, fault=verdict)
            if isinstance(verdict, str)
            else Clash(pair, verdict.winner, _feedback(verdict))
            for pair, verdict in zip(pairs, verdicts, strict=True)
        ]

    clashes = await compare(pro_begins)
    if options.order != "both":
        return clashes
    reversed_clashes = await compare([not begins for begins in pro_begins])
    return [clash.join(again) for clash, again in zip(clashes, reversed_clashes, strict=True)]
