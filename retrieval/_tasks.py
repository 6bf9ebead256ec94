"""Test collections derived from a collection, and the topics that are held out in training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from retrieval.index.analyser import analyse
from touche_rad.debate import Argument
from touche_rad.errors import OptionError, UserError, nearest

SPLITS: Final = ("train", "dev", "test")
_TENTHS: Final = (6, 8, 10)
RANKED: Final = ("counter", "support", "chain")
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
    for kind in RANKED:
        for original in (False, True) if kind in HIDDEN else (False,):
            for split in ("", *SPLITS):
                yield Task(kind, original, split)


def split_of(topic: str) -> str:
    """Return the split of a topic."""
    tenth = int(sha256(topic.encode("utf-8", "replace")).hexdigest(), 16) % 10
    return next(split for split, end in zip(SPLITS, _TENTHS, strict=True) if tenth < end)


def hold_out(arguments: Sequence[Argument]) -> tuple[list[Argument], list[Argument]]:
    """Split arguments into those to train on and those of the split `test`."""
    out = [one for one in arguments if split_of(one.topic) == "test"]
    rest = [one for one in arguments if split_of(one.topic) != "test"]
    if not out or not rest:
        raise UserError(
            "the collection has too few topics: some must be held out to test the model"
        )
    return rest, out


def topics(arguments: Iterable[Argument], of: Task) -> list[Topic]:
    """Return a task's topics, in the collection's order."""
    part = [one for one in arguments if not of.split or split_of(one.topic) == of.split]
    if of.kind == "chain":
        return list(_chains(part))
    field = "supports" if of.kind == "support" else "attacks"
    claims, by_text = _claims(part, field, original=of.original), _by_text(part)
    return [
        Topic(f"{of.kind}-{ids[0]}", claim, tuple(ids), tuple(by_text.get(analyse(claim), ())))
        for claim, ids in claims.items()
    ]


def _claims(
    arguments: Iterable[Argument], field: str, *, original: bool = False
) -> Mapping[str, list[str]]:
    return _grouped(
        (one.text_of(field), one.id)
        for one in arguments
        if one.text_of(field).strip() and (not original or one.original == field)
    )


def _by_text(arguments: Iterable[Argument]) -> Mapping[str, list[str]]:
    return _grouped((analyse(one.text), one.id) for one in arguments)


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


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
    return _grouped((analyse(claim), one) for claim, ids in claims.items() for one in ids)
