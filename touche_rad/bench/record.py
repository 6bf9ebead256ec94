"""The record of a run: its plan, versions, prompts and model usage, and the hashes of all files.

`record.json` is written last: a folder without a finished record can be continued.
"""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import requires
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from touche_rad.bench.plan import BenchPlan, PlanFile, PluginEntry, file_options
from touche_rad.errors import UserError, refuse_newer
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import (
    field_error,
    make_folder,
    read_json,
    refuse_links_out,
    write_json,
)
from touche_rad.plugins import ArgumentIndex
from touche_rad.plugins.profiles import PROMPTS, prompt_files
from touche_rad.text import map_texts, redact
from touche_rad.training.card import versions

RECORD: Final = "record.json"
FIGURES: Final = "figures.json"
PAGE: Final = "page"
VERSION: Final = 1
FORMAT: Final = f"touche-rad record {VERSION}"
FINISHED: Final = "finished"
_REQUIRED: Final = re.compile(r"[A-Za-z0-9._-]+(?!.*extra ==)").match
"""The package that a line of the requirements names, if it is not of an extra."""
_COUNTS: Final = ("calls", "from_cache", "prompt_tokens", "completion_tokens", "failures")


def is_ours(results: Path) -> bool:
    """Whether a folder has the record of a run, finished or not."""
    return (results / RECORD).is_file()


def begin_record(results: Path, plan_file: PlanFile) -> None:
    """Mark a folder as the results of a plan, so that a killed run can continue there."""
    if not is_ours(results):
        make_folder(results)
        write_json(
            results / RECORD, {"format": FORMAT, "state": "begun", "name": plan_file.plan.name}
        )


def write_record(
    results: Path,
    plan_file: PlanFile,
    index: ArgumentIndex | None,
    statuses: Mapping[str, Mapping[str, Any]],
    pages: Iterable[Path],
) -> None:
    """Write the record of a finished run."""
    matches = [_REQUIRED(line) for line in requires("touche-rad") or ()]
    packages = [match[0] for match in matches if match]
    entries: dict[str, dict[str, Any]] = {}
    for group, of_group in plan_file.groups.items():
        entries[group] = {entry.name: _entry_record(entry) for entry in of_group}
    models = {}
    usage: Counter[str] = Counter(dict.fromkeys(_COUNTS, 0))
    for path, status in sorted(statuses.items()):
        identity = status.get("identity", {})
        of_cell = {key: identity[key] for key in ("model", "user_model") if key in identity}
        if of_cell:
            models[path] = of_cell
        total = status.get("usage", {}).get("total", {})
        usage.update({name: int(total.get(name, 0)) for name in _COUNTS})
    summary = [results / FIGURES, *pages, *plan_file.plugin_files]
    record = {
        "format": FORMAT,
        "state": FINISHED,
        "name": plan_file.plan.name,
        "plan": plan_record(plan_file.plan),
        "plan_file": _path_from(results, plan_file.path),
        "versions": {"python": platform.python_version(), **versions(*packages)},
        "index": index.fingerprint if index is not None else None,
        "inputs": {key: sha256_of(path) for key, path in plan_file.data.items()},
        "entries": entries,
        "models": models,
        "usage": usage,
        "outputs": {path: sha256_of(results / path) for path in sorted(statuses)},
        "files": {_path_from(results, path): sha256_of(path) for path in summary},
    }
    write_json(results / RECORD, map_texts(record, redact))


def plan_record(plan: BenchPlan) -> object:
    """Return a plan with the values of all its settings."""
    return map_texts(plan.model_dump(mode="json"), redact)


def _path_from(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _entry_record(entry: PluginEntry[object]) -> dict[str, Any]:
    """Return a plugin with the values of all its options and the hashes of its prompts."""
    plugin = entry.configured.plugin
    options = entry.configured.options.model_dump(mode="json")
    # Not with the folder in which the bench lies here.
    options |= file_options(entry.text)
    options.pop(PROMPTS, None)
    folder = entry.configured.prompts
    prompts = {}
    for name, bundled in sorted(prompt_files(plugin.factory).items()):
        path = folder / bundled.name if folder else bundled
        prompts[name] = sha256_of(path if path.is_file() else bundled)
    return {
        "plugin": plugin.name,
        "source": plugin.source,
        "options": options,
        "prompts": prompts,
    }


class BenchRecord(BaseModel):
    """What is read of a record."""

    plan_file: str
    plan: Mapping[str, Any]
    inputs: Mapping[str, str]
    """Hashes of the data by key of the plan."""
    outputs: Mapping[str, str]
    """Hashes by path below the results; of the other files, too."""
    files: Mapping[str, str]


def read_record(results: Path) -> BenchRecord:
    """Read the record of a finished run in a folder of results.

    Raises:
        UserError: There is no record, it is damaged, or the run is not finished.
    """
    path = results / RECORD
    try:
        record = read_json(path)
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist: expected the results of a finished bench"
        ) from None
    except ValueError as error:
        raise UserError(f"{path} is not a record: {error}") from None
    refuse_newer(path, record, VERSION)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise UserError(f"{path} is not a record of touche-rad: expected format {FORMAT!r}")
    if record.get("state") != FINISHED:
        raise UserError(f"{path} is of a run that is not finished: run the same command again")
    try:
        return BenchRecord.model_validate(record)
    except ValidationError as error:
        raise UserError(
            f"{path}: {field_error(error).field}: damaged: run the same command again"
        ) from None


def differing_files(results: Path, again: str) -> Iterator[str]:
    """Yield the files of a finished run, and of its data, that are not those of its record.

    `again` is the command that makes the results again. It may be a stranger's record.

    Raises:
        UserError: A file is outside the folder of the results or of the plan.
    """
    record = read_record(results)
    data = (results / record.plan_file).parent
    inputs = {data / str(record.plan.get(key)): value for key, value in record.inputs.items()}
    refuse_links_out(data, inputs)
    for name in (*record.outputs, *record.files):
        refuse_links_out(data if name.startswith("../") else results, [results / name])
    hashes = {results / name: value for name, value in {**record.outputs, **record.files}.items()}
    for path, expected in {**inputs, **hashes}.items():
        if path.is_file() and sha256_of(path) == expected:
            continue
        problem = "was changed" if path.is_file() else "the file is missing"
        fix = f"to make the results again: {again}"
        if path in inputs:
            fix = "it is an input: restore it, or make another bench: touche-rad bench new DIR"
        yield f"{os.path.normpath(path)}: {problem}: {fix}"
