"""The paper's Algorithm 1: the graph grows round by round, with a virtual judge's thoughts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, JsonValue, create_model

from judges.debgraph.graph import SceneGraph, at_once, meanings, rounds_of
from judges.debgraph.options import Options
from judges.debgraph.reading import Read, SpeechReader
from judges.debgraph.showing import prompt_of, quoted, shown
from judges.debgraph.verdicts import ProConOrTie
from touche_rad.contest import Contest
from touche_rad.models import Message, Model, ModelError, drop_oldest
from touche_rad.models.output import Paragraph
from touche_rad.text import clean

INDENT: Final = 4
LETTERS_IN_ALL: Final = 2_400


class Thought(BaseModel):
    """What the judge thinks, and who is ahead."""

    thoughts: Paragraph
    winner: ProConOrTie


@dataclass(frozen=True)
class Step:
    """The judge's thought after a round; without a winner, `fault` says why there is none."""

    round: int
    winner: Literal["pro", "con", "tie"] | None = None
    thoughts: str = ""
    fault: str = ""


class VirtualJudge:
    """Judges graphs and remembers what it thought."""

    def __init__(self, model: Model, options: Options, info: str) -> None:
        """Begin with no thoughts."""
        self._model, self._options, self._info = model, options, info
        self.steps: list[Step] = []

    @property
    def history(self) -> list[str]:
        """The thoughts so far."""
        return [step.thoughts for step in self.steps if step.thoughts]

    async def think(self, graph: SceneGraph, number: int) -> None:
        """Judge the debate as it stands after a round (GJ in the paper's first algorithm)."""
        history = self.history if self._options.judge_history else []
        messages, shorten = self._messages(graph, 1, history)
        try:
            thought = await self._model.ask(
                messages, Thought, step="debgraph.judge", shorten=shorten
            )
        except ModelError as error:
            self.steps.append(Step(number, fault=str(error)))
        else:
            self.steps.append(Step(number, thought.winner, thought.thoughts))

    async def think_of_all(self, graph: SceneGraph, rounds: int) -> None:
        """Judge all rounds in one call, over the finished graph."""
        if rounds == 1:
            await self.think(graph, 1)
            return
        messages, shorten = self._messages(graph, rounds, [])
        try:
            answer: Any = await self._model.ask(
                messages, _timeline(rounds), step="debgraph.judge", shorten=shorten
            )
        except ModelError as error:
            self.steps += [Step(number, fault=str(error)) for number in range(1, rounds + 1)]
            return
        found: list[Thought] = answer.rounds[:rounds]
        for number, thought in enumerate(found, 1):
            self.steps.append(Step(number, thought.winner, thought.thoughts))
        for number in range(len(found) + 1, rounds + 1):
            self.steps.append(Step(number, fault="the judge said nothing on this round"))

    def _messages(
        self, graph: SceneGraph, rounds: int, history: list[str]
    ) -> tuple[Sequence[Message], Callable[[Sequence[Message]], Sequence[Message] | None]]:
        """Return the prompt, and what makes it shorter: its form, then its oldest thoughts."""
        prompt = prompt_of("thoughts")
        values = {
            "relations": meanings(), "motion": quoted(graph.motion), "info": self._info,
            "graph": shown(graph, self._options.show, INDENT), "rounds": rounds,
            "thoughts": [quoted(one) for one in history],
            "history": self._options.judge_history,
        }  # fmt: skip
        briefly = {**values, "graph": shown(graph, "lines", INDENT)}
        forget = drop_oldest(prompt, "thoughts", briefly)
        brief = prompt.messages(**briefly)

        def shorter(messages: Sequence[Message]) -> Sequence[Message] | None:
            return brief if len(brief[-1].content) < len(messages[-1].content) else forget(messages)

        return prompt.messages(**values), shorter


def _timeline(rounds: int) -> type[BaseModel]:
    """A thought for each round; what a server lets the model write of each grows with its share."""
    letters: dict[str, JsonValue] = {"maxLength": max(120, LETTERS_IN_ALL // rounds)}
    thought = create_model(
        "RoundThought", __base__=Thought, thoughts=(str, Field(json_schema_extra=letters))
    )
    exact: dict[str, JsonValue] = {"minItems": rounds, "maxItems": rounds}
    listed: Any = list[thought]
    return create_model("Timeline", rounds=(listed, Field(min_length=1, json_schema_extra=exact)))


@dataclass
class Building:
    """A graph with how it came to be."""

    graph: SceneGraph
    judge: VirtualJudge
    reads: list[Read] = field(default_factory=list)


async def build(model: Model, options: Options, contest: Contest) -> Building:
    """Grow the graph of a debate."""
    info = background(contest)
    graph = SceneGraph(contest.motion)
    judge = VirtualJudge(model, options, info)
    building = Building(graph, judge)
    rounds = rounds_of(contest, options.rounds)
    if not options.iterative_graph:
        rounds = at_once(rounds)
    reader = SpeechReader(model, options, info)
    for number, group in enumerate(rounds, 1):
        for heard in group:
            thoughts = judge.history if options.graph_history else []
            building.reads.append(await reader.take(graph, heard, thoughts))
        if options.judge == "round" and len(graph):
            await judge.think(graph, number)
    if options.judge == "once" and len(graph):
        await judge.think_of_all(graph, len(rounds))
    return building


def background(contest: Contest) -> str:
    """Return what the judges are told besides, quoted for a prompt."""
    return quoted(clean(contest.info)) if contest.info.strip() else ""
