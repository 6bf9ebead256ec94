"""The number of a part of a run, as `--shard I/N` names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from touche_rad.errors import OptionError
from touche_rad.frozen import frozen

UNITS: Final = "units.jsonl"
"""The journal of a part that is complete."""
SHARD: Final = "shard"
"""The key of the shard in the identity of a part."""
FOLDER: Final = ".shards"
"""Suffix of the folder with all parts of a run."""
_SHARD: Final = re.compile(r"(\d{1,9})(?:/|-of-)(\d{1,9})")


@frozen
class Shard:
    """One of `count` ranges of an input, numbered from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse `I/N` (or `I-of-N`, as in names of folders).

        Raises:
            OptionError: It has another form, or I is not from 1 to N.
        """
        match = _SHARD.fullmatch(text.strip())
        shard = cls(int(match[1]), int(match[2])) if match else None
        if not shard or not 1 <= shard.number <= shard.count:
            raise OptionError(f"--shard {text}: expected I/N with I from 1 to N, such as 2/4")
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def all(self) -> Iterator[Shard]:
        """Yield this shard and the others of the run."""
        return (Shard(number, self.count) for number in range(1, self.count + 1))

    def folder(self, out: Path) -> Path:
        """Return the folder of this part of a run."""
        return out.with_name(f"{out.name}{FOLDER}") / f"{self.number}-of-{self.count}"

    def units(self, total: int) -> range:
        """Return the numbers of its units; the ranges of all shards differ by one at most."""
        return range(total * (self.number - 1) // self.count, total * self.number // self.count)

    def share(self, limit: int | None) -> int | None:
        """Return the part of a budget that this shard may spend; the parts' sum is the budget."""
        return None if limit is None else len(self.units(limit))
