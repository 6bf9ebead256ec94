"""Figures that need no labels, counted over every debate, shown or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from touche_rad.debate import Maxim
from touche_rad.report.conversations import MOST_WORDS
from touche_rad.report.sources import Heard
from touche_rad.text import count_words


@dataclass
class Tally:
    """What was counted of one run."""

    run: str
    debates: int = 0
    turns: int = 0
    words: list[int] = field(default_factory=list)
    uncited: int = 0
    verdicts: Counter[Maxim] = field(default_factory=Counter)
    yes: Counter[Maxim] = field(default_factory=Counter)

    def add(self, heard: Heard) -> None:
        """Count one debate."""
        self.debates += 1
        self.turns += len(heard.debate.turns)
        for turn in heard.debate.turns:
            if turn.response is not None:
                self.words.append(count_words(turn.response.content))
                self.uncited += not turn.response.arguments
        for verdicts in heard.verdicts.values():
            self.verdicts.update(verdicts.keys())
            self.yes.update(maxim for maxim, verdict in verdicts.items() if verdict.yes)

    def share(self, maxim: Maxim) -> float | None:
        """Return the share of yes among the verdicts on a maxim; no score counts as no."""
        return self.yes[maxim] / self.verdicts[maxim] if self.verdicts[maxim] else None

    @property
    def middle(self) -> float | None:
        """The median of the words in a response."""
        return median(self.words) if self.words else None

    @property
    def too_long(self) -> int:
        """How many responses have more words than the task allows."""
        return sum(words > MOST_WORDS for words in self.words)


def same_words(tallies: Sequence[Tally]) -> list[tuple[list[Tally], list[int]]]:
    """Put runs whose responses have the same lengths together: most often judges of one set."""
    found: dict[tuple[int, ...], list[Tally]] = {}
    for tally in tallies:
        if tally.words:
            found.setdefault(tuple(tally.words), []).append(tally)
    return [(group, list(words)) for words, group in found.items()]
