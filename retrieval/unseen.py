"""Which topics a trained model never sees: the split `test`, or one fold of several.

With a model of each fold, every query of a collection can be answered by one that has not seen
its topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from retrieval.tasks import split_of
from touche_rad.debate import Argument
from touche_rad.errors import OptionError, UserError


@dataclass(frozen=True)
class Unseen:
    """The topics that are held out: those of the split `test`, or fold `number` of `count`."""

    number: int = 0
    count: int = 0

    @classmethod
    def named(cls, name: str) -> Unseen:
        """Read `test`, or a fold such as 2/4."""
        if name == "test":
            return cls()
        number, _, count = name.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) > 1):
            raise OptionError(f"held-out topics are 'test' or a fold such as 2/4, not {name!r}")
        return cls(int(number), int(count))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}" if self.count else "test"

    def __contains__(self, topic: str) -> bool:
        if not self.count:
            return split_of(topic) == "test"
        place = sha256(f"fold\n{topic}".encode("utf-8", "replace")).hexdigest()
        return int(place, 16) % self.count == self.number - 1

    def part(self, arguments: Sequence[Argument]) -> tuple[list[Argument], list[Argument]]:
        """Return what is learnt from and what is held out."""
        out = [one for one in arguments if one.topic in self]
        rest = [one for one in arguments if one.topic not in self]
        if not out or not rest:
            raise UserError(
                "the collection has too few topics: some must be held out to test the model"
            )
        return rest, out
