"""Links between arguments that share a statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, runtime_checkable

from retrieval.index.analyser import tokens
from retrieval.index.statements import ROLES, SIGNS
from touche_rad.debate import Argument
from touche_rad.frozen import frozen
from touche_rad.lists import overlap

SIBLING: Final = 0.8
"""The weight of a link over a claim of a third argument; direct links weigh 1."""


@frozen
class Link:
    """A link to another argument through a shared statement."""

    argument: Argument
    from_role: str
    """The role of the statement in the argument that the link begins at."""
    to_role: str
    """Its role in the other argument."""
    near: float
    """The similarity of the two statements, 0 to 1."""

    @property
    def sign(self) -> int:
        """1 if both arguments are on the same side, -1 if they are opposed."""
        return SIGNS[ROLES.index(self.from_role)] * SIGNS[ROLES.index(self.to_role)]

    @property
    def weight(self) -> float:
        """1 if the statement is the text of one of the two, else less."""
        return 1.0 if "text" in (self.from_role, self.to_role) else SIBLING


@runtime_checkable
class HasLinks(Protocol):
    """An index that may store links."""

    @property
    def links(self) -> Callable[[str], list[Link]] | None:
        """Returns the links of an argument by its id; None if the index stores none."""


def link_between(argument: Argument, from_role: str, linked: Argument, to_role: str) -> Link:
    """Return the link from an argument to another one by their statements in these roles."""
    near = alike(argument.text_of(from_role), linked.text_of(to_role))
    return Link(linked, from_role, to_role, near)


def alike(first: str, second: str) -> float:
    """Return the Jaccard similarity of the stems of two texts."""
    return overlap(set(tokens(first)), set(tokens(second)))
