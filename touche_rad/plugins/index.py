"""What an index gives: arguments by id and by search, and, where it can, meaning and a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from touche_rad.debate import Argument, Hit
from touche_rad.schemes import Annotation


class ArgumentIndex(Protocol):
    """An opened argument index."""

    def __len__(self) -> int:
        """Count the arguments."""
        ...

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""
        ...

    @property
    def fingerprint(self) -> str:
        """What tells this index's content from another's."""
        ...

    def scored(self, field: str, queries: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """Return each query's best `k` ids with their scores; equal scores by id."""
        ...

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        """Return the best `k` arguments by one field: text, attacks, supports, topic or all."""
        ...

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search many queries at once."""
        ...

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument."""
        ...


@runtime_checkable
class GivesMany(Protocol):
    """An index that gives many arguments as quickly as one."""

    def get_all(self, ids: Sequence[str]) -> list[Argument | None]:
        """Return the argument of each id, or None."""
        ...


def arguments_by(index: ArgumentIndex, ids: Sequence[str]) -> list[Argument | None]:
    """Return the argument of each id, or None, asked at once where the index can do that."""
    return index.get_all(ids) if isinstance(index, GivesMany) else [index.get(one) for one in ids]


class Meaning(Protocol):
    """What an index tells of texts that say alike in other words."""

    def nearest(self, field: str, texts: Sequence[str], k: int) -> list[list[str]]:
        """Return the ids of the arguments nearest to each text, nearest first."""
        ...

    def likeness(self, field: str, texts: Sequence[str], ids: Sequence[str]) -> list[list[float]]:
        """Return how like each text is to each argument by its field, -1 to 1."""
        ...


@runtime_checkable
class MeaningIndex(Protocol):
    """An index that may know meaning."""

    @property
    def meaning(self) -> Meaning | None:
        """What it knows, if it does."""
        ...


class Memory(Protocol):
    """What an index remembers of its arguments: which schemes they use, and how well."""

    @property
    def fingerprint(self) -> str:
        """What tells this memory's content from another's."""
        ...

    def annotations(self, ids: Sequence[str]) -> list[Annotation | None]:
        """Return the annotation of each argument, or None where there is none."""
        ...

    def using(self, ids: Sequence[str]) -> list[bool | None]:
        """Return whether each argument uses any scheme, or None where that is not known."""
        ...


@runtime_checkable
class RemembersIndex(Protocol):
    """An index that may have a memory."""

    @property
    def memory(self) -> Memory | None:
        """Its memory, if it was annotated."""
        ...
