"""What the rows of an NLI model's head say, by its own names for them.

Three labels, or two: entailment or not, contradiction or not, or these two alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

SUPPORTS: Final = "supports"
"""The label of the one row of a model that `touche-rad train stance` made."""
_LABEL: Final = re.compile(r"(?:(no|not|non)[\W_]*)?(entail|contradict|neutral)")
_NEITHER: Final = {
    frozenset({"entail", "contradict", "neutral"}): "neutral",
    frozenset({"entail", "contradict"}): None,
    frozenset({"entail", "not entail"}): "not entail",
    frozenset({"entail", "neutral"}): "neutral",
    frozenset({"contradict", "not contradict"}): "not contradict",
    frozenset({"contradict", "neutral"}): "neutral",
}
"""For the labels that a model has, the one that is neither entailment nor contradiction."""


@dataclass(frozen=True)
class Rows:
    """Which row of the head says what; None where no row says it."""

    entailment: int | None
    contradiction: int | None
    neither: int | None

    @property
    def supporting(self) -> tuple[int, int]:
        """The row of which more, and the one of which less, is for the hypothesis."""
        rows = (self.entailment, self.neither, self.contradiction)
        known = [row for row in rows if row is not None]
        return known[0], known[-1]


def rows_of(config: Any) -> Rows | None:
    """Read the labels in a model's configuration; None where they are not those of NLI."""
    labels: Mapping[Any, Any] = config.id2label
    found = {}
    for at, label in labels.items():
        read = _LABEL.match(str(label).strip().lower())
        if read is None:
            return None
        found[f"not {read[2]}" if read[1] else read[2]] = int(at)
    kinds = frozenset(found)
    if len(found) != len(labels) or kinds not in _NEITHER:
        return None
    neither = _NEITHER[kinds]
    return Rows(found.get("entail"), found.get("contradict"), found[neither] if neither else None)


def told(config: Any) -> str:
    """Return a model's labels as a person reads them."""
    return ", ".join(str(label) for label in config.id2label.values())
