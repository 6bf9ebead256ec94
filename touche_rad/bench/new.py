"""The folder of a new bench: its plan, with copies of the data and their hashes."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from touche_rad import files
from touche_rad.bench.plan import NAME, NAMES_ARE, load_plan
from touche_rad.demo import DEMO
from touche_rad.errors import UserError
from touche_rad.files.outputs import sha256_of
from touche_rad.plugins import parse_plugin

PLAN: Final = "bench.toml"
_DATA: Final = {"claims": "claims.tsv", "debates": "debates.jsonl", "labels": "labels.jsonl"}
"""The names of the data in the folder."""


@dataclass(frozen=True)
class Contents:
    """What a new bench contains."""

    data: Mapping[str, Path]
    """Files by key: claims, debates, labels."""
    index: str
    fingerprint: str
    debaters: Sequence[str]
    judges: Sequence[str]
    users: Sequence[str]
    turns: int
    baselines: Sequence[str] = ()


def new_bench(folder: Path, contents: Contents) -> Path:
    """Write the folder of a new bench, and return the path of its plan.

    Raises:
        UserError: The folder's name is not valid, or an entry is wrong.
    """
    if not re.match(NAME, folder.name):
        raise UserError(f"{folder}: expected another name: {NAMES_ARE}")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / PLAN]
    try:
        for key, source in contents.data.items():
            copy = folder / _DATA[key]
            if not copy.exists() or not source.samefile(copy):
                paths.append(copy)
                shutil.copyfile(source, copy)
        with files.atomic_write(folder / PLAN) as stream:
            stream.write(_plan(folder, contents))
        load_plan(folder / PLAN)
    except UserError:
        for path in paths:
            path.unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()
        raise
    return folder / PLAN


def _plan(folder: Path, contents: Contents) -> str:
    """Return the TOML of a new bench."""
    lines = ["format = 1", f"name = {_toml_string(folder.name)}"]
    lines += [f"{key} = {_toml_string(_DATA[key])}" for key in contents.data]
    if contents.index:
        lines.append(f"index = {_toml_string(_location(folder, contents.index))}")
        lines.append(f"index_fingerprint = {_toml_string(contents.fingerprint)}")
    lines += [f"turns = {contents.turns}", "max_words = 60", "seeds = [0]"]
    lines += ["", "[sha256]"]
    lines += [f"{key} = {_toml_string(sha256_of(folder / _DATA[key]))}" for key in contents.data]
    groups = {"users": contents.users, "debaters": contents.debaters, "judges": contents.judges}
    names: list[str] = []
    for group, entries in groups.items():
        lines += ["", f"[{group}]"] if entries else []
        for name, entry in zip(_names(entries), entries, strict=True):
            names.append(name)
            lines.append(f"{name} = {_toml_string(entry)}")
    baselines = [name for name in contents.baselines if name in names]
    lines += ["", "[pages]", f"title = {_toml_string(folder.name)}"]
    lines.append(f"baselines = {json.dumps(baselines)}")
    return "\n".join(lines) + "\n"


def _location(folder: Path, index: str) -> str:
    """Return the location of an index, relative to the bench if it is a folder."""
    if index == DEMO or not Path(index).is_dir():
        return index
    return os.path.relpath(Path(index).resolve(), folder.resolve())


def _names(entries: Sequence[str]) -> list[str]:
    """Name entries after their plugins; a second entry of a plugin gets a number."""
    names: list[str] = []
    for entry in entries:
        plugin = parse_plugin(entry)[0] if "://" not in entry else "endpoint"
        base = re.sub(r"[^A-Za-z0-9_-]", "-", plugin)[:36].lstrip("-_") or "entry"
        name, number = base, 2
        while name in names:
            name, number = f"{base}-{number}", number + 1
        names.append(name)
    return names


def _toml_string(text: str) -> str:
    """Return a TOML string: JSON strings are TOML strings, except for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
