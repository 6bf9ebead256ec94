"""TIRA's input folder: the input file of a command, and the client's configuration."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from touche_rad.errors import InputError, UserError
from touche_rad.files import Kind, detect_kind
from touche_rad.files.records import read_json, refuse_links_out
from touche_rad.files.simulations import is_number_of_turns


def configured_turns(folder: Path | None = None) -> int | None:
    """Return `maxTurns` of the official client's configuration in a folder, if any."""
    folder = folder or Path(os.environ.get("inputDataset") or os.devnull)
    for path in sorted(folder.glob("*.json")):
        try:
            turns: object = read_json(path)["simulation"]["maxTurns"]
        except (OSError, ValueError, LookupError, TypeError):
            continue
        if is_number_of_turns(turns):
            return turns
    return None


def find_input(folder: Path, kinds: Collection[Kind], *, may_link: bool = False) -> Path:
    """Return the one file of a fitting kind in a folder.

    With `may_link`, as for the folder of the platform, its files may be links. A folder that
    somebody handed in must have the files itself.
    """
    wanted = " or ".join(sorted(kind.value for kind in kinds))
    if not folder.is_dir():
        problem = "it does not exist: check its path"
        if folder.exists():
            problem = "it is a file: give a folder that has this run alone"
        raise UserError(f"{folder}: expected a folder with {wanted}, but {problem}")
    fitting = []
    unreadable = ""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    if not may_link:
        refuse_links_out(folder, paths)
    for path in paths:
        try:
            if detect_kind(path) in kinds:
                fitting.append(path)
        except InputError as error:
            if path.suffix == ".jsonl":
                unreadable += f"; {error}"
    if len(fitting) != 1:
        names = ", ".join(path.name for path in fitting) or f"none{unreadable}"
        fix = "give the folder that has it"
        if fitting:
            fix = "move all but one away; of a run and its X.fixed.jsonl, move the run"
        for truths in {folder / "truths", folder.parent / "truths"} - {folder}:
            if truths.is_dir():
                fix = f"give {truths}"
        raise UserError(f"{folder}: expected exactly one file with {wanted}, found {names}: {fix}")
    return fitting[0]
