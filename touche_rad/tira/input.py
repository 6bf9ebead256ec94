"""TIRA's input folder: the input file of a command, and the client's configuration."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

from touche_rad.errors import InputError, UserError
from touche_rad.files import Kind, detect_kind
from touche_rad.files.records import read_json

_MOST_TURNS: Final = 1000


def configured_turns(folder: Path | None = None) -> int | None:
    """Return `maxTurns` of the official client's configuration in a folder, if any."""
    folder = folder or Path(os.environ.get("inputDataset") or os.devnull)
    for path in sorted(folder.glob("*.json")):
        try:
            turns = read_json(path)["simulation"]["maxTurns"]
        except (OSError, ValueError, LookupError, TypeError):
            continue
        if type(turns) is int and 0 < turns <= _MOST_TURNS:
            return turns
    return None


def find_input(folder: Path, kinds: Collection[Kind]) -> Path:
    """Return the one file of a fitting kind in a folder."""
    wanted = " or ".join(sorted(kind.value for kind in kinds))
    if not folder.is_dir():
        raise UserError(f"{folder}: expected a folder with {wanted}")
    fitting = []
    unreadable = ""
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        try:
            if detect_kind(path) in kinds:
                fitting.append(path)
        except InputError as error:
            if path.suffix == ".jsonl":
                unreadable += f"; {error}"
    if len(fitting) != 1:
        text = f"{folder}: expected exactly one file with {wanted}, found "
        text += ", ".join(path.name for path in fitting) or f"none{unreadable}"
        for truths in {folder / "truths", folder.parent / "truths"} - {folder}:
            if truths.is_dir():
                text += f": give {truths}"
        raise UserError(text)
    return fitting[0]
