"""Test collections derived from a collection, and their splits by topic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from retrieval.index.analyser import analyse
from touche_rad.debate import Argument
from touche_rad.frozen import frozen
from touche_rad.text import digest_of_text

SPLITS: Final = ("train", "dev", "test")
_TENTHS: Final = (6, 8, 10)
RANKED: Final = ("counter", "support", "chain")
HIDDEN: Final = ("counter", "support")
"""The kinds whose pipelines may search topic and text only."""


@frozen
class RetrievalTopic:
    """A query, its relevant documents, and documents that repeat the query."""

    qid: str
    query: str
    relevant: Sequence[str]
    itself: Sequence[str] = ()


@frozen
class RetrievalTask:
    """A kind of test collection, optionally of claims written by people or of one split."""

    kind: str
    original: bool = False
    split: str = ""

    @property
    def name(self) -> str:
        """The name, such as counter/orig/test."""
        return "/".join(filter(None, (self.kind, "orig" if self.original else "", self.split)))


def all_tasks() -> Iterator[RetrievalTask]:
    """Yield every task."""
    for kind in RANKED:
        for original in (False, True):
            if original and kind not in HIDDEN:
                continue
            for split in ("", *SPLITS):
                yield RetrievalTask(kind, original, split)


def split_of(topic: str) -> str:
    """Return the split of a topic."""
    tenth = int(digest_of_text(topic), 16) % 10
    return next(split for split, end in zip(SPLITS, _TENTHS, strict=True) if tenth < end)


def topics(arguments: Iterable[Argument], task: RetrievalTask) -> list[RetrievalTopic]:
    """Return a task's topics, in the collection's order."""
    part = [
        argument
        for argument in arguments
        if not task.split or split_of(argument.topic) == task.split
    ]
    if task.kind == "chain":
        return list(_chains(part))
    by_text = _by_stems(_claims(part, "text"))
    field = "supports" if task.kind == "support" else "attacks"
    with_claims = []
    for claim, ids in _claims(part, field, original=task.original).items():
        itself = by_text.get(analyse(claim), ())
        with_claims.append(RetrievalTopic(f"{task.kind}-{ids[0]}", claim, ids, itself))
    return with_claims


def _claims(
    arguments: Iterable[Argument], field: str, *, original: bool = False
) -> Mapping[str, list[str]]:
    """Return the ids of the arguments by what this field of theirs says, if it says something."""
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for argument in arguments:
        claim = argument.text_of(field)
        if claim.strip() and (not original or argument.original == field):
            ids[claim].append(argument.id)
    return ids


def _by_stems(claims: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for claim, of_claim in claims.items():
        ids[analyse(claim)] += of_claim
    return ids


def _chains(arguments: Sequence[Argument]) -> Iterator[RetrievalTopic]:
    """Yield claims with the arguments that are against them only by way of one other argument."""
    text = {argument.id: analyse(argument.text) for argument in arguments}
    attacks = _claims(arguments, "attacks")
    attackers = _by_stems(attacks)
    supporters = _by_stems(_claims(arguments, "supports"))
    by_text = _by_stems(_claims(arguments, "text"))
    for claim, direct in attacks.items():
        key = analyse(claim)
        itself = by_text.get(key, ())
        ends: list[str] = []
        for attacker in direct:
            ends += supporters.get(text[attacker], ())
        for same_side in (*supporters.get(key, ()), *itself):
            ends += attackers.get(text[same_side], ())
        relevant = [end for end in dict.fromkeys(ends) if end not in direct]
        if relevant:
            yield RetrievalTopic(f"chain-{direct[0]}", claim, relevant, itself)
