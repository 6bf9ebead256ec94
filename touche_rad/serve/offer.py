"""The debaters and judges that the debate page offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from touche_rad.plugins import Judge
from touche_rad.runs.answering import Answerer


@dataclass(frozen=True)
class Offer:
    """Debaters and judges by the name that the page shows; the first of each is the default.

    Each is a function that returns the plugin, which may make it at its first call.
    """

    debaters: Mapping[str, Callable[[], Answerer]]
    judges: Mapping[str, Callable[[], Judge]] = field(default_factory=dict)
    notices: Sequence[str] = ()
    """Lines above every debate, such as that the index is the demo collection."""
    examples: Sequence[str] = ()
    """Messages that the page proposes for the first turn."""
