"""The two memories of a column: what was said, and what was made of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """A speech, or the analysis of one."""

    number: int
    code: str
    text: str


@dataclass
class Memory:
    """Entries in the order in which they were added; nothing is ever changed."""

    _entries: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """Remember one more."""
        self._entries.append(entry)

    def fetch(self) -> tuple[Entry, ...]:
        """Return all there is: the paper names no query that would leave any out."""
        return tuple(self._entries)
