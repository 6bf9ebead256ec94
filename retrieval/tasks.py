"""Test collections derived from a collection, and the topics that are held out in training."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    name: str = field(init=False)

    def __post_init__(self) -> None:
        parts = (self.kind, "orig" if self.original else "", self.split)
        object.__setattr__(self, "name", "/".join(part for part in parts if part))


def task(name: str) -> Task:
    """Parse a name such as counter/orig/test."""
    kind, *rest = name.split("/")
    known = [one.name for one in every()]
    original, split = "orig" in rest, next((one for one in rest if one in SPLITS), "")
    found = Task(kind, original, split)
    if found.name != name or name not in known:
        raise OptionError(f"there is no task {name!r}{nearest(name, known)}")
    return found


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
    kept = [one for one in arguments if not of.split or split_of(one.topic) == of.split]
    if of.kind == "stance":
        return list(_stances(kept, of))
    if of.kind == "chain":
        return list(_chains(kept))
    name = "supports" if of.kind == "support" else "attacks"
    found = _claims(kept, name, original=of.original)
    said = _saying(kept)
    return [
        Topic(
            f"{of.kind}-{ids[0]}",
            claim,
            tuple(ids),
            tuple(said.get(analyse(claim), ())),
        )
        for claim, ids in found.items()
    ]


def _claims(kept: Sequence[Argument], name: str, *, original: bool = False) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for argument in kept:
        claim = getattr(argument, name)
        if claim.strip() and (not original or argument.original == name):
            found.setdefault(claim, []).append(argument.id)
    return found


def _saying(kept: Sequence[Argument]) -> Mapping[str, list[str]]:
    said: defaultdict[str, list[str]] = defaultdict(list)
    for argument in kept:
        said[analyse(argument.text)].append(argument.id)
    return said


def _stances(kept: Sequence[Argument], of: Task) -> Iterator[Topic]:
    for argument in kept:
        if argument.attacks.strip() and argument.supports.strip() and argument.text.strip():
            if of.original and argument.original != "attacks":
                continue
            yield Topic(f"stance-{argument.id}", argument.text, (f"{argument.id}:attacks",))


def _chains(kept: Sequence[Argument]) -> Iterator[Topic]:
    """Yield claims with the arguments that are against them only by way of one other argument."""
    by_id = {argument.id: argument for argument in kept}
    attackers, supporters = (_keyed(_claims(kept, name)) for name in ("attacks", "supports"))
    said = _saying(kept)
    for claim, direct in _claims(kept, "attacks").items():
        key = analyse(claim)
        along = (*supporters.get(key, ()), *said.get(key, ()))
        reached = [
            two for one in direct for two in supporters.get(analyse(by_id[one].text), ())
        ] + [two for one in along for two in attackers.get(analyse(by_id[one].text), ())]
        relevant = [one for one in dict.fromkeys(reached) if one not in direct]
        if relevant:
            yield Topic(f"chain-{direct[0]}", claim, tuple(relevant), tuple(said.get(key, ())))


def _keyed(claims: Mapping[str, list[str]]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for claim, ids in claims.items():
        found[analyse(claim)] += ids
    return dict(found)
