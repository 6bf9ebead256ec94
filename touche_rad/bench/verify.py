"""Verify a bench: its hashes, figures and pages from its files, and on request by a second run."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from touche_rad.bench._cells import cells_of
from touche_rad.bench._page import page_files, write_pages
from touche_rad.bench.figures import compute
from touche_rad.bench.plan import DATA, PlanFile, check_plan, load_plan
from touche_rad.bench.record import FIGURES, RECORD, entry_records, read_record, versions
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import read_json
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import redact_data

MISSING: Final = "missing"


class Results:
    """The results of a finished bench, with their record."""

    def __init__(self, folder: Path) -> None:
        """Read the record.

        Raises:
            UserError: The folder has no record of a finished run.
        """
        self.folder = folder
        self.record = read_record(folder)
        self.plan_path = Path(os.path.normpath(folder / str(self.record.get("plan_file"))))

    def load(self) -> PlanFile:
        """Check the plan in the record; paths are relative to the file of the plan."""
        return check_plan(self.record["plan"], self.plan_path)

    def differences(self) -> Iterator[str]:
        """Yield what differs from the record, or from what the files give when computed again."""
        yield from self._inputs()
        plan_file = self.load()
        for path, expected in self.record["outputs"].items():
            yield from _hash(self.folder / path, expected)
        yield from self._plan(plan_file)
        yield from self._computed(plan_file)
        for path, expected in self.record["files"].items():
            yield from _hash(self.folder / path, expected)

    def _inputs(self) -> Iterator[str]:
        for key in DATA:
            if name := self.record["plan"].get(key):
                yield from _hash(self.plan_path.parent / str(name), self.record["inputs"].get(key))

    def _plan(self, plan_file: PlanFile) -> Iterator[str]:
        """Compare the record with the plan's file, if that is there, and with the cells."""
        place = self.folder / RECORD
        plan = self.record["plan"]
        if self.plan_path.is_file():
            now = redact_data(load_plan(self.plan_path).plan.model_dump(mode="json"))
            for key, value, was in compare_json(now, plan):
                yield f"{self.plan_path}: {key} is {value!r:.80}, the record has {was!r:.80}"
        cells = {cell.path for cell in cells_of(plan_file)}
        for path in sorted(cells ^ set(self.record["outputs"])):
            yield f"{place}: {path} is not both an output and a part of the plan"

    def _computed(self, plan_file: PlanFile) -> Iterator[str]:
        """Compute the figures and the pages again, and compare them."""
        place = self.folder / FIGURES
        summary = compute(plan_file, self.folder)
        if not place.is_file():
            yield f"{place}: the file is missing"
            return
        right = json.loads(summary.text())
        for key, value, expected in compare_json(read_json(place), right):
            yield f"{place}: {key} is {_short(value)}, the files give {_short(expected)}"
        with tempfile.TemporaryDirectory() as name:
            fresh = Path(name)
            write_pages(plan_file, self.folder, summary, fresh)
            pages = {path.relative_to(fresh) for path in page_files(fresh)}
            pages |= {path.relative_to(self.folder) for path in page_files(self.folder)}
            for one in sorted(pages):
                there, again = self.folder / one, fresh / one
                if not there.is_file():
                    yield f"{there}: the file is missing"
                elif not again.is_file() or there.read_bytes() != again.read_bytes():
                    yield f"{there}: the page differs from the one that the files give"

    def changes(self, plan_file: PlanFile, index: ArgumentIndex | None) -> Iterator[str]:
        """Yield what differs before anything is played again: index, plugins and prompts."""
        if index is not None and self.record.get("index") != index.fingerprint:
            yield f"index: its fingerprint was {self.record.get('index')}, now {index.fingerprint}"
        for key, now, was in compare_json(entry_records(plan_file), self.record["entries"]):
            yield f"{key} was {was!r} and is now {now!r}"

    def changed_versions(self) -> list[str]:
        """Return the packages whose version differs; results may be equal nevertheless."""
        return [
            f"{name} was {was} and is now {now}"
            for name, now, was in compare_json(versions(), self.record["versions"])
        ]

    def difference_from(self, again: Results) -> str | None:
        """Return the first difference from the results of a second run."""
        for key in ("models", "outputs"):
            for path, now, was in compare_json(again.record.get(key), self.record.get(key)):
                if key == "models":
                    return f"models.{path} was {was!r} and is now {now!r}"
                return _first_line(path, self.folder / path, again.folder / path)
        was, now = (read_json(one.folder / FIGURES) for one in (self, again))
        for key, is_now, it_was in compare_json(now, was):
            return f"{FIGURES}: {key} was {it_was!r:.80} and is now {is_now!r:.80}"
        return None


def _hash(path: Path, expected: Any) -> Iterator[str]:
    if not path.is_file():
        yield f"{path}: the file is missing"
    elif (digest := sha256_of(path)) != expected:
        yield f"{path}: SHA-256 is {digest}, the record has {expected}"


def _first_line(name: str, before: Path, after: Path) -> str:
    """Name the first line and key in which two outputs differ."""
    old, new = (path.read_text("utf-8").splitlines() for path in (before, after))
    for number, (was, now) in enumerate(zip_longest(old, new), 1):
        if was is None or now is None:
            return f"{name}: {len(old)} debates were in the first run, {len(new)} are in the second"
        for key, is_now, it_was in compare_json(json.loads(now), json.loads(was)):
            return f"{name}:{number}: {key} was {it_was!r:.80} and is now {is_now!r:.80}"
    return f"{name}: differs"


def compare_json(one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the keys in which two JSON values differ, with both values."""
    first, second = dict(_leaves(one)), dict(_leaves(other))
    for key in {**second, **first}:
        values = first.get(key, MISSING), second.get(key, MISSING)
        if values[0] != values[1]:
            yield key, *values


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value inside a JSON value with its key, such as `debaters.0.yes`."""
    if isinstance(value, list | tuple):
        value = dict(enumerate(value)) or value
    if not isinstance(value, Mapping) or not value:
        yield key, value
        return
    for name, inner in value.items():
        yield from _leaves(inner, f"{key}.{name}" if key else str(name))


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value!r:.80}"
