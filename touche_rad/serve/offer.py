"""The debaters and judges that the debate page offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from touche_rad.plugins import Judge
from touche_rad.runs.answering import Answerer

T = TypeVar("T")


class Made(Generic[T]):
    """A plugin that is made when it is used for the first time."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None

    def get(self) -> T:
        """Return the plugin; an error of its creation is raised at each use."""
        if self._made is None:
            self._made = self._make()
        return self._made


@dataclass(frozen=True)
class Offer:
    """Debaters and judges by the name that the page shows; the first of each is the default."""

    debaters: Mapping[str, Made[Answerer]]
    judges: Mapping[str, Made[Judge]] = field(default_factory=dict)
    notices: Sequence[str] = ()
    """Lines above every debate, such as that the index is the demo collection."""
    examples: Sequence[str] = ()
    """Messages that the page proposes for the first turn."""
