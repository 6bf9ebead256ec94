"""The five relations of a debate's graph, and what an argument is by those that leave it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

Kinds = Literal["like", "literal"]
"""Whether conclusions count as claims and first principles as premises, or only their namesakes."""


class Relation(StrEnum):
    """What the source of an edge is to its target."""

    CLAIM = "claim"
    PREMISE = "premise"
    CONCLUSION = "conclusion"
    FIRST_PRINCIPLE = "first principle"
    REBUTTAL = "rebuttal"

    @property
    def attacks(self) -> bool:
        """Whether it speaks against its target; all the others speak for it."""
        return self is Relation.REBUTTAL


_MEANINGS = {
    Relation.CLAIM: "the source is a main point; the target is the motion (0) or a point it serves",
    Relation.PREMISE: "the source is a reason, fact or example that makes the target credible",
    Relation.CONCLUSION: "the source is what the side concludes; the target is the motion (0) or "
    "the point it is concluded for",
    Relation.FIRST_PRINCIPLE: "the source is a value or general rule on which the target rests",
    Relation.REBUTTAL: "the source argues against the target, an argument of the other side",
}


def meanings() -> dict[str, str]:
    """Return what each relation means, for a prompt."""
    return {relation.value: meaning for relation, meaning in _MEANINGS.items()}


def kind_of(leaving: Iterable[Relation]) -> Relation:
    """Say what an argument is by the relations that leave it.

    The paper labels relations and counts claims, so an argument takes its name from what it does.
    One that does nothing for another stands on the motion by itself: a claim.
    """
    found = set(leaving)
    order = (
        Relation.CLAIM, Relation.CONCLUSION, Relation.REBUTTAL,
        Relation.PREMISE, Relation.FIRST_PRINCIPLE,
    )  # fmt: skip
    return next((relation for relation in order if relation in found), Relation.CLAIM)


def is_claim(kind: Relation, kinds: Kinds) -> bool:
    """Whether an argument of this kind counts as a claim."""
    return kind is Relation.CLAIM or (kinds == "like" and kind is Relation.CONCLUSION)


def is_premise(relation: Relation, kinds: Kinds) -> bool:
    """Whether this relation gives its target a premise."""
    return relation is Relation.PREMISE or (
        kinds == "like" and relation is Relation.FIRST_PRINCIPLE
    )
