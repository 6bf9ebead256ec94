"""Factuality: is each argument true by common knowledge, and how sure is the model of it?

Nothing is looked up: the judge of a debate does not either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pydantic import BaseModel

from judges.debgraph.batches import batches
from judges.debgraph.graph import Node, SceneGraph
from judges.debgraph.lenient import Confidence, TrueOrFalse
from judges.debgraph.options import Options
from judges.debgraph.showing import quoted
from judges.debgraph.verdicts import Verdicts
from touche_rad.contest import Side
from touche_rad.models import Model, ModelError
from touche_rad.text import clean, cut_to_words


class FactLabel(BaseModel):
    """Whether an argument is true, and how sure that is."""

    label: TrueOrFalse
    confidence: Confidence


_VERDICTS: Final = Verdicts(
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
        return await _VERDICTS.ask(
            self._model, self._options, [node.id for node in group],
            motion=quoted(graph.motion), info=self._info,
            arguments=[{"id": node.id, "text": quoted(node.text)} for node in group],
        )  # fmt: skip
