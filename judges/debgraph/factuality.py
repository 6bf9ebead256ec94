"""Factuality: is each argument true by common knowledge, and how sure is the model of it?

Nothing is looked up: the judge of a debate does not either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel, Field, create_model

from judges.debgraph.batches import at_most, batches
from judges.debgraph.graph import Node, SceneGraph
from judges.debgraph.lenient import Confidence, TrueOrFalse
from judges.debgraph.options import Options
from judges.debgraph.showing import prompt_of, quoted
from touche_rad.contest import Side
from touche_rad.models import Model, ModelError
from touche_rad.models.schemas import Line, Page
from touche_rad.text import clean, cut_to_words

BATCH_WORDS = 30


class FactLabel(BaseModel):
    """Whether an argument is true, and how sure that is."""

    label: TrueOrFalse
    confidence: Confidence


class FactVerdict(FactLabel):
    """The same with feedback on what is wrong."""

    feedback: Page = ""


class NumberedLabel(FactLabel):
    """A label for the argument of this id."""

    id: int


class NumberedFact(NumberedLabel):
    """A label for the argument of this id, with feedback on what is wrong."""

    feedback: Line = ""


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
        each = self._options.ask == "each"
        wanted = self._options.feedback != "none"
        words = self._options.feedback_words if each else min(
            BATCH_WORDS, self._options.feedback_words
        )  # fmt: skip
        messages = prompt_of("facts").messages(
            each=each, words=words if wanted else 0, motion=quoted(graph.motion), info=self._info,
            arguments=[{"id": node.id, "text": quoted(node.text)} for node in group],
        )  # fmt: skip
        if each:
            alone = FactVerdict if wanted else FactLabel
            return {group[0].id: await self._model.ask(messages, alone, step="debgraph.fact")}
        item: Any = NumberedFact if wanted else NumberedLabel
        schema = create_model(
            "FactVerdicts", verdicts=(list[item], Field(json_schema_extra=at_most(len(group))))
        )
        answer: Any = await self._model.ask(messages, schema, step="debgraph.fact")
        first: dict[int, FactLabel] = {}
        for one in answer.verdicts:
            first.setdefault(one.id, one)
        return first
