"""Probes: turns with a known verdict, made from finished debates by changing the response.

Each function takes debates or arguments and yields probes: a debate to judge, the maxim, and the
kind and variant of the change. All are deterministic. The tests compare the judge's rates with
limits, and `quality.py probes` prints the rates.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from benchmarks.probe_changes import CHANGES
from touche_rad import files
from touche_rad.debate import Argument, Debate, Maxim, Response
from touche_rad.demo import demo_file


@dataclass(frozen=True)
class Probe:
    """A debate whose last response is to be judged on one maxim."""

    kind: str
    variant: str
    maxim: Maxim
    debate: Debate


@dataclass(frozen=True)
class Base:
    """A user turn, not yet answered, and an argument found for it."""

    asked: Debate
    argument: Argument

    def answered(self, text: str, *cited: Argument) -> Debate:
        """The debate with this answer, which cites the argument unless others are given."""
        return self.asked.with_response(Response(content=text, arguments=cited or (self.argument,)))


def bases(debates: Iterable[Debate]) -> Iterator[Base]:
    """Each turn with the first argument that was cited in it."""
    for debate in debates:
        for at, turn in enumerate(debate.turns):
            if turn.response and turn.response.arguments:
                yield Base(debate.before_response(at), turn.response.arguments[0])


GROUPS: Final[Mapping[str, tuple[str, Maxim]]] = {
    "verbatim": ("verbatim", Maxim.QUALITY),
    "negated": ("negations", Maxim.QUALITY),
    "exaggerated": ("exaggerations", Maxim.QUALITY),
    "number": ("numbers", Maxim.QUALITY),
    "study": ("studies", Maxim.QUALITY),
    "surrender": ("surrenders", Maxim.RELATION),
    "agreement": ("agreements", Maxim.RELATION),
    "retraction": ("retractions", Maxim.QUALITY),
    "roles": ("roles", Maxim.QUALITY),
    "shuffled": ("shuffles", Maxim.MANNER),
    "insult": ("insults", Maxim.QUALITY),
    "padding": ("paddings", Maxim.MANNER),
    "echo": ("echoes", Maxim.RELATION),
    "echo, quality": ("echoes", Maxim.QUALITY),
}
"""The group of changes and the maxim of each kind of probe."""


def changed(kind: str, found: Iterable[Base]) -> Iterator[Probe]:
    """Quotations of the argument, or the user's own last words, with each change of a kind."""
    group, maxim = GROUPS[kind]
    for base in found:
        said = base.asked.last.utterance if group == "echoes" else base.argument.text
        for variant, change in CHANGES[group].items():
            text = change(said)
            if text and text.strip():
                probe = Probe(kind, variant, maxim, base.answered(text))
                if kind not in ("negated", "exaggerated") or not _still_quoted(probe.debate):
                    yield probe


def _by_topic(arguments: Iterable[Argument]) -> dict[str, list[Argument]]:
    found: dict[str, list[Argument]] = defaultdict(list)
    for argument in arguments:
        found[argument.topic].append(argument)
    return found


def swapped(arguments: Iterable[Argument], found: Sequence[Base]) -> Iterator[Probe]:
    """Quotations that cite another argument of the same topic."""
    by_topic, draw = _by_topic(arguments), random.Random(7)
    for at, argument in enumerate(one for group in by_topic.values() for one in group):
        others = [
            other for other in by_topic[argument.topic] if not _contains(other.text, argument.text)
        ]
        if others:
            debate = found[at % len(found)].answered(argument.text, draw.choice(others))
            yield Probe("swapped", "same topic", Maxim.QUALITY, debate)


def foreign(debates: Sequence[Debate], rounds: int = 2) -> Iterator[Probe]:
    """Answers of other debates: the answer itself, and its first argument as a quotation."""
    draw = random.Random(11)
    for debate in debates:
        others = [
            other
            for other in debates
            if other is not debate
            and (other.id != debate.id or not other.id)
            and (other.claim != debate.claim or not other.claim)
        ]
        for at in range(len(debate.turns) * rounds):
            turn = draw.choice(draw.choice(others).turns)
            if turn.response is None:
                continue
            asked = debate.before_response(at % len(debate.turns))
            yield Probe("foreign", "answer", Maxim.RELATION, asked.with_response(turn.response))
            for argument in turn.response.arguments[:1]:
                quotation = Response(content=argument.text, arguments=(argument,))
                yield Probe("foreign", "quotation", Maxim.RELATION, asked.with_response(quotation))


def recorded(debates: Iterable[Debate]) -> Iterator[Probe]:
    """The answers of the debate itself."""
    for debate in debates:
        for at, turn in enumerate(debate.turns):
            if turn.response:
                yield Probe("on topic", "recorded answer", Maxim.RELATION, debate.view(at))


def found_for(found: Iterable[Base]) -> Iterator[Probe]:
    """The argument that was cited in the turn, as a quotation."""
    for base in found:
        quoted = base.answered(base.argument.text)
        yield Probe("on topic", "argument found for it", Maxim.RELATION, quoted)


def listed(arguments: Iterable[Argument], found: Sequence[Base]) -> Iterator[Probe]:
    """Four arguments of one topic in a list."""
    groups = [group for group in _by_topic(arguments).values() if len(group) >= 4]
    for at, group in enumerate(groups):
        points = [re.split(r"(?<=[.!?])\s", one.text)[0].rstrip(".") for one in group[:4]]
        marks = ("First", "Second", "Third", "Finally")
        text = " ".join(f"{mark}, {point}." for mark, point in zip(marks, points, strict=True))
        debate = found[at % len(found)].answered(text, *group[:4])
        yield Probe("list", "four points", Maxim.QUANTITY, debate)


def without_fields(probe: Probe) -> Probe:
    """The same probe in the format of the official converter: arguments with id and text only."""
    response = probe.debate.last.response
    assert response is not None
    bare = tuple(Argument(id=one.id, text=one.text) for one in response.arguments)
    debate = probe.debate.with_response(Response(content=response.content, arguments=bare))
    return Probe(probe.kind, probe.variant, probe.maxim, debate)


def _contains(text: str, part: str) -> bool:
    return _plain(part) in _plain(text)


def _still_quoted(debate: Debate) -> bool:
    """Whether the argument still contains the changed text."""
    response = debate.last.response
    assert response is not None
    return any(_contains(one.text, response.content) for one in response.arguments)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower().replace("’", "'")))


@dataclass(frozen=True)
class Data:
    """Debates, arguments, and a base for each: an argument as the answer to some user turn."""

    debates: tuple[Debate, ...]
    arguments: tuple[Argument, ...]

    @property
    def found(self) -> list[Base]:
        """User turns with the argument that was cited for them."""
        return list(bases(self.debates))

    def spread(self, every: int = 1) -> list[Base]:
        """Each `every`-th argument, as if it had been found for one user turn after another."""
        found = self.found
        return [
            Base(found[at % len(found)].asked, argument)
            for at, argument in enumerate(self.arguments[::every])
        ]


@cache
def demo() -> Data:
    """The bundled demo data."""
    return Data(
        tuple(files.read_debates(demo_file("debates.jsonl"))),
        tuple(files.read_arguments(demo_file("arguments.jsonl"))),
    )


@cache
def real(folder: Path) -> Data:
    """The official sample."""
    return Data(
        tuple(files.read_debates(folder / "cmv-debates-100.jsonl.gz")),
        tuple(files.read_arguments(folder / "claimrev-4441.jsonl.gz")),
    )
