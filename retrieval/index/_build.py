"""Build an index folder atomically."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from retrieval.index.analyser import ALL, FIELDS, PARTS, content, tokens
from retrieval.index.engine import build_engine
from retrieval.index.statements import ROLES, STATEMENTS, StatementGroups
from retrieval.index.store import FILE, write_manifest, write_store
from touche_rad.debate import Argument
from touche_rad.errors import UserError


def build(arguments: Iterable[Argument], location: str, *, replace: bool) -> int:
    """Build an index folder and return the number of its arguments."""
    target = Path(os.path.realpath(location))
    _check_target(target, replace)
    target.parent.mkdir(parents=True, exist_ok=True)
    folder, old = (target.with_name(f".{target.name}.{state}") for state in ("making", "old"))
    for left in (folder, old):  # of a killed build
        shutil.rmtree(left, ignore_errors=True)
    folder.mkdir()
    try:
        count = _fill(folder, arguments)
        if target.exists():
            _check_target(target, replace)
            target.rename(old)
        folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    return count


def _check_target(target: Path, replace: bool) -> None:
    if not target.exists():
        return
    if not replace:
        raise UserError(f"{target} exists already; replace it with --replace")
    if not target.is_dir() or (any(target.iterdir()) and not (target / FILE).is_file()):
        raise UserError(f"{target} is not an index: it is not replaced")


def _fill(folder: Path, arguments: Iterable[Argument]) -> int:
    groups = StatementGroups()
    words: dict[str, list[str]] = {field: [] for field in FIELDS}

    def take(argument: Argument) -> None:
        stems = {part: tokens(content(argument, part)) for part in PARTS}
        groups.add([stems[role] for role in ROLES])
        for part in PARTS:
            words[part].append(" ".join(stems[part]))
        words[ALL].append(" ".join(chain.from_iterable(stems.values())))

    collection, numbers = write_store(arguments, folder, take)
    groups.write(numbers, folder / STATEMENTS)
    counts = {}
    for field, lines in words.items():
        documents = [one for one in zip(numbers.tolist(), lines, strict=True) if one[1]]
        counts[field] = len(documents)
        if documents:  # a field without words gets no folder
            build_engine(folder / field, documents)
    write_manifest(folder, collection, len(numbers), counts)
    return len(numbers)
