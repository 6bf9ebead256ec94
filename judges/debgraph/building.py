"""The paper's first algorithm: the graph grows speech by speech, and a judge watches."""

from __future__ import annotations

from dataclasses import dataclass, field

from judges.debgraph.graph import SceneGraph
from judges.debgraph.options import Options
from judges.debgraph.reading import Read, SpeechReader
from judges.debgraph.rounds import at_once, rounds_of
from judges.debgraph.showing import quoted
from judges.debgraph.thoughts import VirtualJudge
from touche_rad.contest import Contest
from touche_rad.models import Model
from touche_rad.text import clean


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
