"""Finished units that other runs of the same folder reuse, in an append-only file.

A unit's key is a digest of everything that decides its result, so a unit is only reused if nothing
that matters has changed. A killed process leaves at most one incomplete line, which is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from touche_rad import __version__
from touche_rad.runs.fallbacks import Fallback
from touche_rad.runs.journal import Done

T = TypeVar("T")


class Recorded:
    """The finished units of a folder by key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._units = _read(path)

    async def __call__(
        self, key: Mapping[str, Any], work: Callable[[T], Awaitable[Done]], item: T
    ) -> Done:
        """Return the recorded result of a unit, or do its work and record it."""
        text = json.dumps({**key, "version": __version__}, sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        if digest not in self._units:
            done = await work(item)
            self._append(digest, done)
            self._units[digest] = done
        return self._units[digest]

    def clear(self) -> None:
        """Delete all units."""
        self.path.unlink(missing_ok=True)
        self._units.clear()

    def _append(self, digest: str, done: Done) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"key": digest, **asdict(done)}, ensure_ascii=False)
        # The line break comes first, so that an incomplete line spoils no other one.
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(f"\n{line}")


def _read(path: Path) -> dict[str, Done]:
    units: dict[str, Done] = {}
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return units
    for line in lines:
        try:
            unit = json.loads(line)
            fallbacks = tuple(Fallback(**one) for one in unit["fallbacks"])
            units[unit["key"]] = Done(
                tuple(unit["lines"]), unit["counts"], tuple(unit["notes"]), fallbacks
            )
        except (ValueError, TypeError, KeyError):  # an incomplete line of a killed process
            continue
    return units
