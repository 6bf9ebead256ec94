"""The record of a run: its plan, versions, prompts and model usage, and the hashes of all files.

`record.json` is written last. Beside an edition, `SHA256SUMS` has the same hashes for `sha256sum`.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from touche_rad import __version__, files
from touche_rad.errors import InputError, UserError, refuse_newer, why
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import numbered_lines, read_json
from touche_rad.plugins.profiles import PROMPTS, prompt_files
from touche_rad.text import redact_data

if TYPE_CHECKING:
    from touche_rad.editions.plan import Chosen, ChosenUser, Loaded
    from touche_rad.plugins import ArgumentIndex

RECORD: Final = "record.json"
FIGURES: Final = "figures.json"
PAGE: Final = "page"
SUMS: Final = "SHA256SUMS"
VERSION: Final = 1
FORMAT: Final = f"touche-rad record {VERSION}"
FINISHED: Final = "finished"
_OBJECTS: Final = ("inputs", "outputs", "entries", "versions")
_UNFINISHED: Final = "unfinished"
_PACKAGE: Final = re.compile(r"^[A-Za-z0-9._-]+")
_SUM: Final = re.compile(r"^([0-9a-f]{64})  ([^\x00-\x1f]+)$")
_COUNTS: Final = ("calls", "from_cache", "prompt_tokens", "completion_tokens", "failures")


def is_ours(results: Path) -> bool:
    """Whether a folder has the record of a run, finished or not."""
    return (results / RECORD).is_file()


def begin_record(results: Path, loaded: Loaded, *, finished: bool) -> None:
    """Mark a folder as the results of a plan, so that a killed run can continue there."""
    if finished and is_ours(results):
        return
    results.mkdir(parents=True, exist_ok=True)
    _write(results / RECORD, {"format": FORMAT, "state": _UNFINISHED, "name": loaded.plan.name})


def _write(path: Path, record: Mapping[str, Any]) -> None:
    with files.atomic_write(path) as stream:
        stream.write(json.dumps(record, ensure_ascii=False, indent=2) + "\n")


def write_record(
    results: Path,
    loaded: Loaded,
    index: ArgumentIndex | None,
    outputs: Mapping[str, Mapping[str, Any]],
    models: Mapping[str, Any],
) -> None:
    """Write the record of a finished run.

    Args:
        results: The folder of the results.
        loaded: The plan.
        index: The index of the debaters.
        outputs: The status of each cell by its path.
        models: The identity of the language model of each entry.
    """
    record = {
        "format": FORMAT,
        "state": FINISHED,
        "name": loaded.plan.name,
        "plan": loaded.plan.model_dump(mode="json"),
        "plan_file": os.path.relpath(loaded.path.resolve(), results.resolve()),
        "versions": versions(),
        "index": index.fingerprint if index is not None else None,
        "inputs": {getattr(loaded.plan, key): sha256_of(path) for key, path in loaded.data.items()},
        "entries": {
            group: {one.name: entry_record(one) for one in getattr(loaded, group)}
            for group in ("users", "debaters", "judges")
        },
        "models": models,
        "usage": _usage(outputs.values()),
        "outputs": {path: sha256_of(results / path) for path in sorted(outputs)},
        "figures": sha256_of(results / FIGURES),
    }
    _write(results / RECORD, redact_data(record))


def versions() -> dict[str, str]:
    """Return the versions of touche-rad, Python and the packages that touche-rad requires."""
    found = {"touche-rad": __version__, "python": platform.python_version()}
    for line in requires("touche-rad") or ():
        name = _PACKAGE.match(line)
        if name is not None and "extra ==" not in line:
            try:
                found[name[0]] = version(name[0])
            except PackageNotFoundError:
                continue
    return found


def entry_record(entry: Chosen | ChosenUser) -> dict[str, Any]:
    """Return a plugin with the values of all its options and the hashes of its prompts."""
    values = entry.effective.model_dump(mode="json")
    folder = Path(values.pop(PROMPTS, "") or os.devnull)
    bundled = prompt_files(entry.plugin.factory)
    return {
        "plugin": entry.plugin.name,
        "source": entry.plugin.source,
        "options": values,
        "prompts": {
            name: _digest(folder / path.name if (folder / path.name).is_file() else path)
            for name, path in sorted(bundled.items())
        },
    }


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _usage(statuses: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Sum the calls and tokens of all cells."""
    total = dict.fromkeys(_COUNTS, 0)
    for status in statuses:
        for key in ("usage", "usage_of_user"):
            counts = (status.get(key) or {}).get("total") or {}
            for name in _COUNTS:
                total[name] += int(counts.get(name, 0))
    return total


def read_record(path: Path) -> dict[str, Any]:
    """Read the record of a finished run.

    Args:
        path: The record, or the folder with it.

    Raises:
        UserError: There is no record, or the run is not finished.
    """
    path = path / RECORD if path.is_dir() else path
    try:
        record = read_json(path)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: expected the record of a finished run") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not a record: {why(error)}") from None
    refuse_newer(path, record, VERSION)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise UserError(f"{path} is not a record of touche-rad: expected format {FORMAT!r}")
    if record.get("state") != FINISHED:
        raise UserError(f"{path} is of a run that is not finished: run the same command again")
    inner = {f"entries.{key}": value for key, value in _dict(record.get("entries")).items()}
    for key, value in {**{key: record.get(key) for key in _OBJECTS}, **inner}.items():
        if not isinstance(value, dict):
            raise InputError(path, "expected an object", field=key)
    return record


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def write_sums(folder: Path, paths: Iterable[Path]) -> None:
    """Write the hashes of files as `sha256sum` does, with paths relative to the folder."""
    named = sorted((path.relative_to(folder).as_posix(), path) for path in paths)
    with files.atomic_write(folder / SUMS) as stream:
        stream.writelines(f"{sha256_of(path)}  {name}\n" for name, path in named)


def read_sums(folder: Path) -> dict[str, str]:
    """Read the hashes by path. A path that leads out of the folder is an error."""
    path = folder / SUMS
    sums: dict[str, str] = {}
    for number, line in numbered_lines(path):
        match = _SUM.match(line)
        name = match[2] if match else ""
        if match is None or name.startswith("/") or ".." in Path(name).parts:
            raise UserError(f"{path}:{number}: expected a SHA-256 hash, two spaces and a file here")
        sums[name] = match[1]
    return sums
