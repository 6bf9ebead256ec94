"""Finished units that other runs of the same folder reuse, in an append-only file.

A unit's key is a digest of everything that decides its result, so a unit is only reused if nothing
that matters has changed. A killed process leaves at most one incomplete line, which is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from touche_rad import __version__
from touche_rad.runs.work import Done, read_record, record_line

T = TypeVar("T")


class Recorded:
    """The finished units of a folder by key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._units: dict[str, Done] = {}
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            with suppress(ValueError):  # an incomplete line of a killed process
                key, done = read_record(line)
                self._units[key] = done

    async def __call__(
        self, key: Mapping[str, Any], work: Callable[[T], Awaitable[Done]], item: T
    ) -> Done:
        """Return the recorded result of a unit, or do its work and record it."""
        text = json.dumps({**key, "version": __version__}, sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        if digest not in self._units:
            done = await work(item)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # The line break comes first, so that an incomplete line spoils no other one.
            with self.path.open("ab") as stream:
                stream.write(b"\n" + record_line(digest, done))
            self._units[digest] = done
        return self._units[digest]

    def clear(self) -> None:
        """Delete all units."""
        self.path.unlink(missing_ok=True)
        self._units.clear()
