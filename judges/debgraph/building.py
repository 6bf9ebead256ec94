"""The paper's first algorithm: the graph grows speech by speech, and a judge watches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files

from judges.debgraph.drafts import Draft, draft_schema
from judges.debgraph.graph import OTHER, SceneGraph
from judges.debgraph.merging import Reading, merge, read
from judges.debgraph.options import Options
from judges.debgraph.relations import Relation, meanings
from judges.debgraph.rounds import Heard, at_once, rounds_of
from judges.debgraph.showing import quoted, shown
from judges.debgraph.thoughts import VirtualJudge
from touche_rad.contest import Contest
from touche_rad.models import Message, Model, ModelError, Prompt
from touche_rad.models.faults import Cut, Invalid
from touche_rad.text import clean

COUNTER_INDENT = 2
MOST_AFTER_CUT = 20
"""Half of it is asked for where an answer without a bound was cut off."""


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
    explanation: str = ""


@dataclass
class Building:
    """A graph with how it came to be."""

    graph: SceneGraph
    judge: VirtualJudge
    reads: list[Read] = field(default_factory=list)


async def build(model: Model, options: Options, contest: Contest) -> Building:
    """Grow the graph of a debate."""
    graph = SceneGraph(contest.motion)
    judge = VirtualJudge(model, options, background(contest))
    building = Building(graph, judge)
    rounds = rounds_of(contest, options.rounds)
    if not options.iterative_graph:
        rounds = at_once(rounds)
    reader = _Reader(model, options, background(contest))
    for number, group in enumerate(rounds, 1):
        for heard in group:
            thoughts = judge.history if options.graph_history else []
            building.reads.append(await reader.take(graph, heard, thoughts))
        if options.judge == "round" and len(graph):
            await judge.think(graph, number)
    if options.judge == "once" and len(graph):
        await judge.think_of_all(graph, len(rounds))
    return building


class _Reader:
    """Reads a speech into the graph: GG, GPC and GCC with MG in the paper's first algorithm."""

    def __init__(self, model: Model, options: Options, info: str) -> None:
        self._model, self._options, self._info = model, options, info

    async def take(self, graph: SceneGraph, heard: Heard, thoughts: Sequence[str]) -> Read:
        """Ask for what a speech adds until it can be merged, and merge it."""
        counters = self._options.counter and len(graph) > 0
        known = graph if counters else SceneGraph(graph.motion)
        messages = self._messages(known, heard, thoughts, counters=counters)
        told, most = Read(heard), self._options.most
        for asked in range(1, self._options.retry_cap + 2):
            again = _corrected(told.faults) if asked > 1 else ()
            told = replace(told, asked=asked)
            try:
                draft = await self._model.ask(
                    [*messages, *again], draft_schema(most),
                    step="debgraph.counter" if counters else "debgraph.graph",
                )  # fmt: skip
            except Invalid as error:
                told = replace(told, faults=(str(error),))
                continue
            except Cut:
                most = max(1, (most or MOST_AFTER_CUT) // 2)
                told = replace(told, faults=(f"it was cut off: draw {most} new arguments at most",))
                continue
            except ModelError as error:
                return replace(told, faults=(str(error),), degraded=True)
            reading = read(draft, known, heard.stamp)
            told = replace(told, faults=tuple(reading.faults), explanation=clean(draft.explanation))
            if reading.valid or (self._options.faulty == "mend" and _holds(reading, draft)):
                return self._merged(reading, graph, known, told)
        return replace(told, degraded=True)

    def _merged(self, reading: Reading, graph: SceneGraph, known: SceneGraph, told: Read) -> Read:
        if known is not graph:
            reading = _moved(reading, graph.next_id - known.next_id)
        merge(reading, graph, told.heard.stamp)
        return replace(
            told,
            added=tuple(reading.arguments),
            relations=tuple(edge.relation for edge in reading.relations),
        )

    def _messages(
        self, graph: SceneGraph, heard: Heard, thoughts: Sequence[str], *, counters: bool
    ) -> tuple[Message, ...]:
        side = heard.stamp.side
        values = {
            "relations": meanings(), "example": _example(), "motion": quoted(graph.motion),
            "info": self._info, "side": side, "speech": quoted(heard.text),
            "most": self._options.most, "thoughts": [quoted(one) for one in thoughts],
        }  # fmt: skip
        if not counters:
            return Prompt.load(__package__, "graph").messages(**values)
        return Prompt.load(__package__, "counter").messages(
            **values, other=OTHER[side], next_id=graph.next_id,
            graph=shown(graph, self._options.show, COUNTER_INDENT),
        )  # fmt: skip


def _holds(reading: Reading, draft: Draft) -> bool:
    """Whether something is left of a draft that had something."""
    return bool(reading.arguments or reading.relations) or not (draft.arguments or draft.relations)


def _corrected(faults: Sequence[str]) -> tuple[Message]:
    """What is said when a graph is asked for again."""
    told = Prompt.load(__package__, "again").messages(faults=faults[:8])
    return (told[0],)


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


def background(contest: Contest) -> str:
    """Return what the judges are told besides, quoted for a prompt."""
    return quoted(clean(contest.info)) if contest.info.strip() else ""
