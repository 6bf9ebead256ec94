"""Test collections derived from a collection, and the topics that are held out in training."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.index.analyser import analyse
from touche_rad.debate import Argument
from touche_rad.errors import OptionError, UserError, nearest, refuse_newer
from touche_rad.training.folder import FORMAT


@dataclass(frozen=True)
class Unseen:
    """The held-out topics: the split `test`, or fold `number` of `count`."""

    number: int = 0
    count: int = 0

    @classmethod
    def named(cls, name: str) -> Unseen:
        """Parse `test`, or a fold such as 2/4."""
        if name == "test":
            return cls()
        number, _, count = name.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) > 1):
            raise OptionError(f"held-out topics are 'test' or a fold such as 2/4, not {name!r}")
        return cls(int(number), int(count))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}" if self.count else "test"

    def __contains__(self, topic: str) -> bool:
        if not self.count:
            return split_of(topic) == "test"
        place = sha256(f"fold\n{topic}".encode("utf-8", "replace")).hexdigest()
        return int(place, 16) % self.count == self.number - 1

    def part(self, arguments: Sequence[Argument]) -> tuple[list[Argument], list[Argument]]:
        """Split arguments into those to train on and those that are held out."""
        out = [one for one in arguments if one.topic in self]
        rest = [one for one in arguments if one.topic not in self]
        if not out or not rest:
            raise UserError(
                "the collection has too few topics: some must be held out to test the model"
            )
        return rest, out


SPLITS: Final = ("train", "dev", "test")
_TENTHS: Final = (6, 8, 10)
RANKED: Final = ("counter", "support", "chain")
KINDS: Final = (*RANKED, "stance")
HIDDEN: Final = ("counter", "support")
"""The kinds whose pipelines may search topic and text only."""


@dataclass(frozen=True)
class Topic:
    """A query, its relevant documents, and documents that repeat the query."""

    qid: str
    query: str
    relevant: tuple[str, ...]
    itself: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """A kind of test collection, optionally of claims written by people or of one split."""

    kind: str
    original: bool = False
    split: str = ""

    @property
    def name(self) -> str:
        """The name, such as counter/orig/test."""
        return "/".join(filter(None, (self.kind, "orig" if self.original else "", self.split)))


def task(name: str) -> Task:
    """Parse a name such as counter/orig/test."""
    tasks = {one.name: one for one in every()}
    if name not in tasks:
        raise OptionError(f"there is no task {name!r}{nearest(name, tasks)}")
    return tasks[name]


def every() -> Iterator[Task]:
    """Yield every task."""
    for kind in KINDS:
        for original in (False, True) if kind in (*HIDDEN, "stance") else (False,):
            for split in ("", *SPLITS):
                yield Task(kind, original, split)


class TrainingReport(BaseModel):
    """The report of a training on a collection, measured on topics that were held out."""

    model_config = ConfigDict(frozen=True)

    base: str
    collection: str
    held_out: str = "test"
    """`test`, or the held-out fold, such as 2/4."""
    trained_on: int
    tested_on: int
    steps: int = 0
    recipe: dict[str, Any] = {}

    def saw(self, topic: str) -> bool:
        """Whether the model was trained on a topic."""
        return topic not in Unseen.named(self.held_out)

    @classmethod
    def read(cls, folder: Path, trainer: str) -> Self:
        """Read the report of a model that a trainer made."""
        try:
            record = json.loads((folder / "report.json").read_text("utf-8"))
            refuse_newer(folder, record, FORMAT)
            return cls.model_validate(record)
        except (OSError, ValueError, ValidationError):
            raise UserError(f"{folder} was not made by: touche-rad train {trainer}") from None


def split_of(topic: str) -> str:
    """Return the split of a topic."""
    tenth = int(sha256(topic.encode("utf-8", "replace")).hexdigest(), 16) % 10
    return next(split for split, end in zip(SPLITS, _TENTHS, strict=True) if tenth < end)


def topics(arguments: Iterable[Argument], of: Task) -> list[Topic]:
    """Return a task's topics, in the collection's order."""
    part = [one for one in arguments if not of.split or split_of(one.topic) == of.split]
    if of.kind == "stance":
        return list(_stances(part, of))
    if of.kind == "chain":
        return list(_chains(part))
    field = "supports" if of.kind == "support" else "attacks"
    claims, by_text = _claims(part, field, original=of.original), _by_text(part)
    return [
        Topic(f"{of.kind}-{ids[0]}", claim, tuple(ids), tuple(by_text.get(analyse(claim), ())))
        for claim, ids in claims.items()
    ]


def _claims(
    arguments: Sequence[Argument], field: str, *, original: bool = False
) -> dict[str, list[str]]:
    claims: dict[str, list[str]] = {}
    for argument in arguments:
        claim = getattr(argument, field)
        if claim.strip() and (not original or argument.original == field):
            claims.setdefault(claim, []).append(argument.id)
    return claims


def _by_text(arguments: Sequence[Argument]) -> Mapping[str, list[str]]:
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for argument in arguments:
        ids[analyse(argument.text)].append(argument.id)
    return ids


def _stances(arguments: Sequence[Argument], of: Task) -> Iterator[Topic]:
    for argument in arguments:
        if argument.attacks.strip() and argument.supports.strip() and argument.text.strip():
            if of.original and argument.original != "attacks":
                continue
            yield Topic(f"stance-{argument.id}", argument.text, (f"{argument.id}:attacks",))


def _chains(arguments: Sequence[Argument]) -> Iterator[Topic]:
    """Yield claims with the arguments that are against them only by way of one other argument."""
    text = {argument.id: analyse(argument.text) for argument in arguments}
    attacks, supports = (_claims(arguments, field) for field in ("attacks", "supports"))
    attackers, supporters = _by_stems(attacks), _by_stems(supports)
    by_text = _by_text(arguments)
    for claim, direct in attacks.items():
        key = analyse(claim)
        along = (*supporters.get(key, ()), *by_text.get(key, ()))
        ends = [end for one in direct for end in supporters.get(text[one], ())]
        ends += [end for one in along for end in attackers.get(text[one], ())]
        relevant = [one for one in dict.fromkeys(ends) if one not in direct]
        if relevant:
            yield Topic(f"chain-{direct[0]}", claim, tuple(relevant), tuple(by_text.get(key, ())))


def _by_stems(claims: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for claim, of_claim in claims.items():
        ids[analyse(claim)] += of_claim
    return ids
