"""Debaters, judges and an index that stand in for real ones, the bad ones included."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

import anyio

from retrieval.index.analyser import ALL, TOPICS, content
from tests.records import read_arguments
from touche_rad.debate import Argument, Debate, Hit, Response, Turn
from touche_rad.text import content_words

ARGUMENTS = read_arguments("runs/zoos.json")


class SmallIndex:
    """An index in memory that ranks by shared words, then by id."""

    def __init__(self, arguments: Sequence[Argument] = ARGUMENTS) -> None:
        self._by_id = {argument.id: argument for argument in arguments}

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, argument_id: str) -> Argument | None:
        return self._by_id.get(argument_id)

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        query_words = set(content_words(query))
        texts: dict[Argument, str] = {}
        first_arguments: dict[str, Argument] = {}
        for argument in self.arguments():
            first, part = argument, field
            if field == TOPICS:
                first, part = first_arguments.setdefault(argument.topic, argument), ALL
            texts[first] = f"{texts.get(first, '')} {content(argument, part)}"
        scores = {
            argument: len(query_words & set(content_words(text)))
            for argument, text in texts.items()
            if field != TOPICS or argument.topic
        }
        matching = [argument for argument in scores if scores[argument]]
        matching.sort(key=lambda argument: (-scores[argument], argument.id))
        return [
            Hit(argument=argument, score=scores[argument], rank=rank)
            for rank, argument in enumerate(matching[:k])
        ]

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [self.search(field, query, k) for query in queries]

    def arguments(self) -> Iterator[Argument]:
        yield from self._by_id.values()


def debate_of(*utterances: str) -> Debate:
    """A debate in which each utterance but the last was answered `Answer <n>.`."""
    turns = [
        Turn(utterance=text, response=Response(content=f"Answer {place}."))
        for place, text in enumerate(utterances[:-1])
    ]
    return Debate(
        id="d", claim="Zoos should be closed", turns=(*turns, Turn(utterance=utterances[-1]))
    )


class Saying:
    """Says what it was made with."""

    def __init__(self, content: object, *cited: str) -> None:
        self.content = content
        self.cited = cited
        self.calls = 0

    def answer(self, debate: Debate) -> Response:
        self.calls += 1
        arguments = [{"id": id_, "text": "made up"} for id_ in self.cited]
        return Response.model_construct(
            content=self.content, arguments=tuple(map(Argument.model_validate, arguments))
        )


class SayingAsync(Saying):
    """The same with `async def`."""

    async def answer(self, debate: Debate) -> Response:  # type: ignore[override]
        await anyio.sleep(0)
        return super().answer(debate)


@dataclass
class Raising:
    """Raises what it was made with."""

    error: BaseException

    def answer(self, debate: Debate) -> Response:
        raise self.error


class RaisingAsync(Raising):
    async def answer(self, debate: Debate) -> Response:  # type: ignore[override]
        raise self.error


class Exiting:
    def answer(self, debate: Debate) -> Response:
        sys.exit(3)


class Hanging:
    """Never answers; `let_go` ends its threads."""

    def __init__(self) -> None:
        self.let_go = Event()

    def answer(self, debate: Debate) -> Response:
        self.let_go.wait()
        raise AssertionError("nobody waits for this")


class HangingAsync:
    async def answer(self, debate: Debate) -> Response:
        await anyio.sleep_forever()
        raise AssertionError


@dataclass
class Slow:
    """Answers after a while, with its thread asleep."""

    seconds: float

    def answer(self, debate: Debate) -> Response:
        time.sleep(self.seconds)
        return Response(content=f"Late, but here: {debate.last.utterance}")


@dataclass
class Returning:
    """Returns anything at all."""

    anything: object

    def answer(self, debate: Debate) -> object:
        return self.anything


@dataclass
class Hangs:
    """Never answers on one thesis."""

    thesis: str
    never: Event = field(default_factory=Event)

    def answer(self, debate: Debate) -> Response:
        if debate.thesis == self.thesis:
            self.never.wait()
        return Response(content="Yes.")
