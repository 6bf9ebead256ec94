"""The paper's algorithm 1: the graph grows round by round, with a virtual judge's thoughts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, create_model

from judges.debgraph._options import Options
from judges.debgraph._reading import SpeechReader, SpeechReport
from judges.debgraph._verdicts import ProConOrTie
from judges.debgraph.graph import MEANINGS, SceneGraph, joined, quoted, rounds_of
from touche_rad.contest import Contest
from touche_rad.models import Message, Model, ModelError, Prompt, drop_oldest
from touche_rad.text import clean

INDENT: Final = 4
LETTERS: Final = 1_200
"""Characters of one thought."""
LETTERS_IN_ALL: Final = 3_600
"""Characters of the thoughts on all rounds, if one call asks for them all."""

MAX_TOKENS: Final = 2_048
"""Token limit of the thoughts of one call."""


class Thought(BaseModel):
    """The judge's thoughts and the side that is ahead."""

    thoughts: Annotated[str, Field(json_schema_extra={"maxLength": LETTERS})]
    winner: ProConOrTie


@dataclass(frozen=True)
class Step:
    """The judge's thoughts after a round; without a winner, `fault` says why."""

    round: int
    winner: Literal["pro", "con", "tie"] | None = None
    thoughts: str = ""
    fault: str = ""


class VirtualJudge:
    """Judges graphs and remembers its thoughts."""

    def __init__(self, model: Model, options: Options, info: str) -> None:
        self._model, self._options, self._info = model, options, info
        self.steps: list[Step] = []

    @property
    def history(self) -> list[str]:
        """The thoughts so far."""
        return [step.thoughts for step in self.steps if step.thoughts]

    async def think(self, graph: SceneGraph, numbers: Sequence[int]) -> None:
        """Judge the debate as it stands after some rounds (GJ in the paper's algorithm 1)."""
        rounds = len(numbers)
        history = self.history if self._options.judge_history else []
        messages, shorten = self._messages(graph, rounds, history)
        schema = Thought if rounds == 1 else _timeline(rounds)
        thoughts: list[Thought] = []
        fault = "the judge said nothing about this round"
        try:
            answer: Any = await self._model.ask(
                messages, schema, step="debgraph.judge", shorten=shorten, max_tokens=MAX_TOKENS
            )
            thoughts = [answer] if rounds == 1 else answer.rounds
        except ModelError as error:
            fault = str(error)
        for place, number in enumerate(numbers):
            step = Step(number, fault=fault)
            if place < len(thoughts):
                step = Step(number, thoughts[place].winner, thoughts[place].thoughts)
            self.steps.append(step)

    def _messages(
        self, graph: SceneGraph, rounds: int, history: list[str]
    ) -> tuple[Sequence[Message], Callable[[Sequence[Message]], Sequence[Message] | None]]:
        """Return the prompt and what shortens it: graph as lines first, then fewer thoughts."""
        prompt = Prompt.load(__package__, "thoughts")
        values = {
            "relations": MEANINGS,
            "motion": quoted(graph.motion),
            "info": self._info,
            "graph": graph.as_lines(),
            "rounds": rounds,
            "letters": _letters(rounds),
            "thoughts": [quoted(one) for one in history],
            "history": self._options.judge_history,
        }
        short = prompt.messages(**values)
        drop_thoughts = drop_oldest(prompt, "thoughts", values)
        if self._options.graph_format == "lines":
            return short, drop_thoughts

        def shorten(messages: Sequence[Message]) -> Sequence[Message] | None:
            shorter = len(short[-1].content) < len(messages[-1].content)
            return short if shorter else drop_thoughts(messages)

        return prompt.messages(**{**values, "graph": graph.as_json(INDENT)}), shorten


def _letters(rounds: int) -> int:
    return min(LETTERS, max(200, LETTERS_IN_ALL // rounds))


def _timeline(rounds: int) -> type[BaseModel]:
    """Return the schema of one thought per round; more rounds mean shorter thoughts."""
    text = Annotated[str, Field(json_schema_extra={"maxLength": _letters(rounds)})]
    thought: Any = create_model("RoundThought", __base__=Thought, thoughts=(text, ...))
    exact = Field(min_length=1, json_schema_extra={"minItems": rounds, "maxItems": rounds})
    return create_model("Timeline", rounds=(list[thought], exact))


@dataclass
class Building:
    """A graph, and how it was built."""

    graph: SceneGraph
    judge: VirtualJudge
    reports: list[SpeechReport] = field(default_factory=list)


async def build(model: Model, options: Options, contest: Contest) -> Building:
    """Build the graph of a debate."""
    info = background(contest, options)
    graph = SceneGraph(contest.motion)
    judge = VirtualJudge(model, options, info)
    building = Building(graph, judge)
    rounds = rounds_of(contest, options.rounds)
    if not options.iterative_graph:
        rounds = joined(rounds)
    reader = SpeechReader(model, options, info)
    for number, group in enumerate(rounds, 1):
        for speech in group:
            thoughts = judge.history if options.graph_history else []
            building.reports.append(await reader.read(graph, speech, thoughts))
        if options.judge == "round" and len(graph):
            await judge.think(graph, [number])
    if options.judge == "once" and len(graph):
        await judge.think(graph, range(1, len(rounds) + 1))
    return building


_LONGEST_BACKGROUND: Final = 4_000
"""Characters of background in a prompt, which each call repeats."""


def background(contest: Contest, options: Options) -> str:
    """Return the background information, quoted for a prompt."""
    info = clean(contest.info)[:_LONGEST_BACKGROUND] if options.background else ""
    return quoted(info) if info else ""
