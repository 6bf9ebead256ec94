"""Reading one speech into the graph: asking for what it adds until that can be merged.

GG, GPC and GCC with MG in the paper's first algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Final, Literal

from judges.debgraph.drafts import Draft, draft_schema
from judges.debgraph.graph import OTHER, SceneGraph
from judges.debgraph.merging import Reading, merge, read
from judges.debgraph.options import Options
from judges.debgraph.relations import Relation, meanings
from judges.debgraph.rounds import Heard
from judges.debgraph.showing import prompt_of, quoted, shown
from touche_rad.models import Message, Model, ModelError
from touche_rad.models.faults import Cut, Invalid
from touche_rad.text import clean

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
            except Invalid as error:
                told = replace(told, faults=(str(error)[:_LONGEST_FAULT],))
                continue
            except Cut:
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
