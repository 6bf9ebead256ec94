"""The paper's algorithm 1: the graph grows round by round, with a virtual judge's thoughts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, create_model

from judges.debgraph._options import Options
from judges.debgraph._reading import SpeechReader, SpeechReport
from judges.debgraph.graph import MEANINGS, SceneGraph, join_sides, quote, rounds_of
from touche_rad.contest import Contest
from touche_rad.frozen import frozen
from touche_rad.models import Message, Model, ModelError, Prompt, drop_oldest
from touche_rad.models.output import schema_limits

JSON_INDENT: Final = 4
THOUGHT_LETTERS: Final = 1_200
"""Characters of one thought."""
ALL_THOUGHTS_LETTERS: Final = 3_600
"""Characters of the thoughts on all rounds, if one call asks for them all."""

MAX_TOKENS: Final = 2_048
"""Token limit of the thoughts of one call."""


class Thought(BaseModel):
    """The judge's thoughts and the side that is ahead."""

    thoughts: Annotated[str, schema_limits(maxLength=THOUGHT_LETTERS)]
    winner: Literal["pro", "con", "tie"]


@frozen
class Step:
    """The judge's thoughts after a round; without a winner, `fault` says why."""

    round: int
    winner: Literal["pro", "con", "tie"] | None = None
    thoughts: str = ""
    fault: str = ""


@dataclass
class VirtualJudge:
    """Judges graphs and remembers its thoughts."""

    model: Model
    options: Options
    info: str
    steps: list[Step] = field(default_factory=list)

    @property
    def history(self) -> list[str]:
        """The thoughts so far."""
        return [step.thoughts for step in self.steps if step.thoughts]

    async def think(self, graph: SceneGraph, numbers: Sequence[int]) -> None:
        """Judge the debate as it stands after some rounds (GJ in the paper's algorithm 1)."""
        rounds = len(numbers)
        letters = min(THOUGHT_LETTERS, max(200, ALL_THOUGHTS_LETTERS // rounds))
        prompt = Prompt.load(__package__, "thoughts")
        values = {
            "relations": MEANINGS,
            "motion": quote(graph.motion),
            "info": self.info,
            "graph": graph.as_lines(),
            "rounds": rounds,
            "letters": letters,
            "thoughts": list(map(quote, self.history)) if self.options.judge_history else [],
            "history": self.options.judge_history,
        }

        # A prompt that is too long shows the graph as lines first, then fewer thoughts.
        messages = short = prompt.messages(**values)
        drop_thoughts = drop_oldest(prompt, "thoughts", values)
        if self.options.graph_format == "json":
            messages = prompt.messages(**{**values, "graph": graph.as_json_text(JSON_INDENT)})

        def shorten(previous: Sequence[Message]) -> Sequence[Message] | None:
            shorter = len(short[-1].content) < len(previous[-1].content)
            return short if shorter else drop_thoughts(previous)

        schema: type[BaseModel] = Thought
        if rounds > 1:
            text = Annotated[str, schema_limits(maxLength=letters)]
            thought: Any = create_model("RoundThought", __base__=Thought, thoughts=text)
            exact = Field(min_length=1, json_schema_extra={"minItems": rounds, "maxItems": rounds})
            schema = create_model("Timeline", rounds=(list[thought], exact))
        thoughts: list[Thought] = []
        fault = "the judge said nothing about this round"
        try:
            answer: Any = await self.model.ask(
                messages, schema, step="debgraph.judge", shorten=shorten, max_tokens=MAX_TOKENS
            )
            thoughts = answer.rounds if rounds > 1 else [answer]
        except ModelError as error:
            fault = str(error)
        for place, number in enumerate(numbers):
            step = Step(number, fault=fault)
            if place < len(thoughts):
                step = Step(number, thoughts[place].winner, thoughts[place].thoughts)
            self.steps.append(step)


@frozen
class Building:
    """A graph, and how it was built."""

    graph: SceneGraph
    steps: Sequence[Step]
    """The judge's thoughts, round by round."""
    reports: Sequence[SpeechReport]

    @property
    def verdict(self) -> Literal["pro", "con", "tie"] | None:
        """The winner by the judge's last thoughts, if it has one."""
        return self.steps[-1].winner if self.steps else None


async def build(model: Model, options: Options, contest: Contest, info: str) -> Building:
    """Build the graph of a debate; `info` is its background, quoted for a prompt."""
    graph = SceneGraph(contest.motion)
    judge = VirtualJudge(model, options, info)
    reader = SpeechReader(model, options, info)
    rounds = rounds_of(contest, options.rounds)
    if not options.iterative_graph:
        rounds = join_sides(rounds)
    reports = []
    for number, group in enumerate(rounds, 1):
        for speech in group:
            thoughts = judge.history if options.graph_history else []
            reports.append(await reader.read(graph, speech, thoughts))
        if options.judge == "round" and len(graph):
            await judge.think(graph, [number])
    if options.judge == "once" and len(graph):
        await judge.think(graph, range(1, len(rounds) + 1))
    return Building(graph, judge.steps, reports)
