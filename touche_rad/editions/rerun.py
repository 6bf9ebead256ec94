"""Repeat a run from its record, and name the first difference."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from touche_rad.editions.cells import cells_of
from touche_rad.editions.plan import GROUPS, Loaded, check_plan
from touche_rad.editions.record import FIGURES, RECORD, entry_record, read_record, versions
from touche_rad.editions.verify import compare_json
from touche_rad.errors import UserError
from touche_rad.files.outputs import sha256_of
from touche_rad.plugins import ArgumentIndex


def load_record(path: Path) -> tuple[dict[str, Any], Loaded]:
    """Read a record and the plan in it; paths are relative to the file of the plan.

    Raises:
        UserError: There is no record of a finished run, or a file of the plan does not exist.
    """
    place = path / RECORD if path.is_dir() else path
    record = read_record(place)
    plan, file = record.get("plan"), record.get("plan_file")
    if not isinstance(plan, dict) or not isinstance(file, str):
        raise UserError(f"{place} is not a record of touche-rad: it contains no plan")
    return record, check_plan(plan, Path(os.path.normpath(place.parent / file)))


def changes_before(
    record: Mapping[str, Any], loaded: Loaded, index: ArgumentIndex | None
) -> Iterator[str]:
    """Yield what differs before anything is repeated: inputs, index, plugins and prompts."""
    inputs = record.get("inputs") or {}
    for key, path in loaded.data.items():
        name = getattr(loaded.plan, key)
        if inputs.get(name) != sha256_of(path):
            yield f"{path}: the file has changed since the run"
    if index is not None and record.get("index") != index.fingerprint:
        yield f"index: its fingerprint was {record.get('index')} and is now {index.fingerprint}"
    entries = record.get("entries") or {}
    for group in GROUPS:
        for one in getattr(loaded, group):
            before = (entries.get(group) or {}).get(one.name) or {}
            for key, found, was in compare_json(entry_record(one), before):
                what = f"prompt {key.removeprefix('prompts.')}" if "prompts" in key else key
                if key.startswith("prompts."):
                    yield f"{group}.{one.name}: {what} has changed since the run"
                else:
                    yield f"{group}.{one.name}: {what} was {was!r} and is now {found!r}"


def changed_versions(record: Mapping[str, Any]) -> list[str]:
    """Return the packages whose version differs; results may be equal nevertheless."""
    return [
        f"{name} was {was} and is now {now}"
        for name, now, was in compare_json(versions(), record.get("versions") or {})
    ]


def first_difference(
    record: Mapping[str, Any], before: Path, loaded: Loaded, after: Path
) -> str | None:
    """Return the first difference between the results of a run and of its repetition.

    Args:
        record: The record of the run.
        before: The folder of the run.
        loaded: The plan.
        after: The folder of the repetition.
    """
    outputs = record.get("outputs") or {}
    for cell in cells_of(loaded):
        if sha256_of(after / cell.path) != outputs.get(cell.path):
            return _where(cell.path, before / cell.path, after / cell.path)
    if sha256_of(after / FIGURES) != record.get("figures"):
        return _figure(before / FIGURES, after / FIGURES)
    return None


def _where(name: str, before: Path, after: Path) -> str:
    """Name the first line and key in which two outputs differ."""
    try:
        old, new = (path.read_text("utf-8").splitlines() for path in (before, after))
        for number, (was, now) in enumerate(zip_longest(old, new), 1):
            if was == now:
                continue
            if was is None or now is None:
                return f"{name}: {len(old)} debates in the record's run, {len(new)} now"
            for key, is_now, it_was in compare_json(json.loads(now), json.loads(was)):
                return f"{name}:{number}: {key} was {it_was!r:.80} and is now {is_now!r:.80}"
    except (OSError, ValueError):
        pass
    return f"{name}: the output differs from the record's hash"


def _figure(before: Path, after: Path) -> str:
    try:
        old, new = (json.loads(path.read_text("utf-8")) for path in (before, after))
    except (OSError, ValueError):
        return f"{FIGURES}: differs from the record's hash"
    for key, now, was in compare_json(new, old):
        return f"{FIGURES}: {key} was {was!r:.80} and is now {now!r:.80}"
    return f"{FIGURES}: differs from the record's hash"
