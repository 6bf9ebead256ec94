"""Where indexes live, and what such a home may keep beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from touche_rad.debate import Argument
from touche_rad.plugins.index import ArgumentIndex
from touche_rad.schemes import Annotator, Cost


class IndexHome(Protocol):
    """A kind of place where an index lives, and how one is made there."""

    def accepts(self, location: str) -> bool:
        """Whether this location is one of mine."""
        ...

    def open(self, location: str) -> ArgumentIndex:
        """Open an index that is there."""
        ...

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Make an index there and return how many arguments it holds."""
        ...


@runtime_checkable
class KeepsMemory(Protocol):
    """A home that keeps a memory beside an index."""

    def annotate(
        self,
        location: str,
        annotator: Annotator,
        *,
        of: Iterable[Argument] | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> int:
        """Annotate what the index holds, going on where a killed run was.

        Args:
            location: The index.
            annotator: Who annotates.
            of: The arguments that the index must hold; another index is refused.
            report: Told how many arguments are done of how many.

        Returns:
            How many are annotated; 0 where all were before.
        """
        ...

    def cost_of_annotating(self, location: str, annotator: Annotator) -> Cost:
        """Return what annotating what is left will take, about."""
        ...


@dataclass(frozen=True)
class VectorsWanted:
    """Which vectors an index is given besides its words."""

    encoder: str
    fields: tuple[str, ...] = ("text", "attacks", "supports")
    precision: Literal["float16", "int8"] = "float16"
    graph: bool = False
    """Whether a graph for approximate search (HNSW) is made too."""


@runtime_checkable
class KeepsVectors(Protocol):
    """A home that keeps vectors beside an index."""

    def add_vectors(
        self,
        location: str,
        wanted: VectorsWanted,
        *,
        of: Iterable[Argument] | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> int:
        """Encode what the index holds, going on where a killed run was.

        Args:
            location: The index.
            wanted: Which vectors.
            of: The arguments that the index must hold; another index is refused.
            report: Told how many texts are done of how many.

        Returns:
            How many texts there are.
        """
        ...


@runtime_checkable
class OnAServer(Protocol):
    """A home whose indexes are no folders of this disk."""

    def exists(self, location: str) -> bool:
        """Whether an index is there."""
        ...


@runtime_checkable
class Dumps(Protocol):
    """A home on a server, whose indexes can be brought here whole."""

    def dump(
        self, location: str, path: Path, report: Callable[[int, int], None] | None = None
    ) -> int:
        """Write all arguments to a file of JSON lines and return how many there are."""
        ...
