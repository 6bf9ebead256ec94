"""Build an index folder atomically."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

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
    with ExitStack() as opened:
        words = {field: opened.enter_context(_scratch(folder)) for field in FIELDS}
        groups = StatementGroups()

        def take(argument: Argument) -> None:
            stems = {part: tokens(content(argument, part)) for part in PARTS}
            groups.add([stems[role] for role in ROLES])
            lines = {part: " ".join(words) for part, words in stems.items()}
            lines[ALL] = " ".join(filter(None, lines.values()))
            for field, file in words.items():
                file.write(f"{lines[field]}\n")

        collection, numbers = write_store(arguments, folder, take)
        # The engine releases the GIL part of the time: group the statements meanwhile.
        with ThreadPoolExecutor(max_workers=1) as pool:
            grouped = pool.submit(groups.write, numbers, folder / STATEMENTS)
            counts = {field: _field(file, numbers, folder / field) for field, file in words.items()}
        grouped.result()
    write_manifest(folder, collection, len(numbers), counts)
    return len(numbers)


def _scratch(folder: Path) -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="ascii", dir=folder)


def _field(file: IO[str], numbers: Any, folder: Path) -> int:
    """Index one field; a field without words gets no folder."""
    count = _count(file)
    if count:
        build_engine(folder, lambda: _lines(file, numbers.tolist()))
    return count


def _lines(file: IO[str], numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield the lines with words, with the numbers of their arguments."""
    file.seek(0)
    for number, line in zip(numbers, file, strict=True):
        if line != "\n":
            yield number, line


def _count(file: IO[str]) -> int:
    file.seek(0)
    return sum(line != "\n" for line in file)
