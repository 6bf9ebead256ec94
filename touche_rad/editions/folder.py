"""An edition's folder: its plan and data, its results, and the hashes of all of them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from touche_rad import files
from touche_rad.demo import DEMO
from touche_rad.editions.engine import Engine
from touche_rad.editions.finish import result_files
from touche_rad.editions.plan import NAME, Loaded, load_plan
from touche_rad.editions.record import SUMS, read_sums, write_sums
from touche_rad.errors import UserError
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import remove_unfinished
from touche_rad.plugins import parse_plugin

MANIFEST: Final = "edition.toml"
RESULTS: Final = "results"
_DATA: Final = {"claims": "claims.tsv", "debates": "debates.jsonl", "labels": "labels.jsonl"}
"""The names of the data in the folder."""


class EditionFolder:
    """The folder of an edition."""

    def __init__(self, path: Path) -> None:
        """Name the folder; nothing is read yet."""
        self.path = path
        self.manifest, self.results = path / MANIFEST, path / RESULTS

    def load(self) -> Loaded:
        """Read and check the manifest; all data must lie in the folder."""
        if not self.manifest.is_file():
            raise UserError(
                f"{self.path} is not an edition: expected {MANIFEST} in it; make one with: "
                f"touche-rad edition new {self.path}"
            )
        return load_plan(self.manifest, inside=True)

    def changed(self, loaded: Loaded) -> list[str]:
        """Return the names of the data that differ from the recorded hashes."""
        sums = read_sums(self.path) if (self.path / SUMS).is_file() else {}
        hashes = {path.name: sha256_of(path) for path in loaded.data.values()}
        return [name for name, found in hashes.items() if sums.get(name, found) != found]

    def write_sums(self, engine: Engine) -> None:
        """Write the hashes of the manifest, the data and the results."""
        remove_unfinished(self.path, below=False)
        inputs = [self.manifest, *engine.loaded.data.values()]
        write_sums(self.path, [*inputs, *result_files(engine.results, engine.cells)])


@dataclass(frozen=True)
class Wanted:
    """What a new edition contains."""

    data: Mapping[str, Path]
    """Files by key: claims, debates, labels."""
    index: str
    fingerprint: str
    debaters: Sequence[str]
    judges: Sequence[str]
    users: Sequence[str]
    turns: int
    seeds: Sequence[int] = (0,)
    baselines: Sequence[str] = field(default=())
    title: str = ""


def new_edition(path: Path, wanted: Wanted) -> EditionFolder:
    """Write the folder of a new edition with copies of its data.

    Raises:
        UserError: The folder's name is no name of an edition, or an entry is wrong.
    """
    if not re.match(NAME, path.name):
        raise UserError(
            f"{path}: expected another name: a name has 1 to 40 letters, digits, - and _"
        )
    path.mkdir(parents=True, exist_ok=True)
    for key, source in wanted.data.items():
        if not (path / _DATA[key]).exists() or not source.samefile(path / _DATA[key]):
            shutil.copyfile(source, path / _DATA[key])
    folder = EditionFolder(path)
    with files.atomic_write(folder.manifest) as stream:
        stream.write(_manifest(path, wanted))
    try:
        loaded = folder.load()
    except UserError:
        for written in (folder.manifest, *(path / _DATA[key] for key in wanted.data)):
            written.unlink(missing_ok=True)
        with suppress(OSError):
            path.rmdir()
        raise
    write_sums(path, [folder.manifest, *loaded.data.values()])
    return folder


def _manifest(path: Path, wanted: Wanted) -> str:
    """Return the TOML of a new edition."""
    lines = [
        "# An edition of touche-rad. Play it with: touche-rad edition run FOLDER",
        "# Hashes are in SHA256SUMS; results, pages and the record are in results/.",
        "",
        "format = 1",
        f"name = {_quoted(path.name)}",
    ]
    lines += [f"{key} = {_quoted(_DATA[key])}" for key in wanted.data]
    if wanted.index:
        lines.append(f"index = {_quoted(_location(path, wanted.index))}")
        lines.append(f"index_fingerprint = {_quoted(wanted.fingerprint)}")
    lines += [f"turns = {wanted.turns}", "max_words = 60", f"seeds = {list(wanted.seeds)}"]
    groups = {"users": wanted.users, "debaters": wanted.debaters, "judges": wanted.judges}
    names = {group: _names(entries) for group, entries in groups.items()}
    for group, entries in groups.items():
        if entries:
            lines += ["", f"[{group}]"]
            lines += [
                f"{name} = {_quoted(entry)}"
                for name, entry in zip(names[group], entries, strict=True)
            ]
    known = {*names["debaters"], *names["judges"]}
    baselines = [name for name in wanted.baselines if name in known]
    lines += [
        "",
        "[pages]",
        f"title = {_quoted(wanted.title or path.name)}",
        f"baselines = {json.dumps(baselines)}",
    ]
    return "\n".join(lines) + "\n"


def _location(path: Path, index: str) -> str:
    """Return the location of an index, relative to the edition if it is a folder."""
    if index == DEMO or not Path(index).is_dir():
        return index
    return os.path.relpath(Path(index).resolve(), path.resolve())


def _names(entries: Sequence[str]) -> list[str]:
    """Name entries after their plugins; a second entry of a plugin gets a number."""
    found: list[str] = []
    for entry in entries:
        plugin = parse_plugin(entry)[0] if "://" not in entry else "endpoint"
        base = re.sub(r"[^A-Za-z0-9_-]", "-", plugin)[:36].lstrip("-_") or "entry"
        name, number = base, 2
        while name in found:
            name, number = f"{base}-{number}", number + 1
        found.append(name)
    return found


def _quoted(text: str) -> str:
    """Return a TOML string: JSON strings are TOML strings, except for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
