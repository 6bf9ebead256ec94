"""Build an index folder atomically."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final

from retrieval.index.analyser import ALL, FIELDS, PARTS, CollectionAnalyser, content
from retrieval.index.engine import build_engine
from retrieval.index.statements import ROLES, STATEMENTS, StatementGroups
from retrieval.index.store import FILE, check_path, write_manifest, write_store
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError
from touche_rad.files.locks import open_locked, remove_if_unlocked
from touche_rad.files.records import FULL


def build(arguments: Iterable[Argument], location: str, *, replace: bool) -> int:
    """Build an index folder and return the number of its arguments."""
    target = Path(os.path.realpath(location))
    check_path(target)
    _check_target(target, replace)
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    with _scratch_folder(target) as folder:
        try:
            count = _fill(folder, arguments)
        except OSError as error:
            if error.errno not in FULL:
                raise
            places = f"{target.parent} or {tempfile.gettempdir()} (TMPDIR)"
            raise WorkError(f"no space left on the disk of {places}") from error
        folder.chmod(0o755)
        if target.exists():
            _check_target(target, replace)
            with _scratch_folder(target) as old:
                target.rename(old / "old")
                folder.rename(target)
        else:
            folder.rename(target)
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

        tokens = CollectionAnalyser().tokens

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
        _check_space(folder.parent, os.fstat(file.fileno()).st_size)
        build_engine(folder, lambda: _lines(file, numbers.tolist()))
    return count


_FACTOR: Final = 5
_REST: Final = 2**18


def _check_space(folder: Path, words: int) -> None:
    """Raise an error if the disk is too full for the engine, which ends its process then.

    It was measured to need at most 4.4 times the bytes of the words, and 0.2 MB.
    """
    needed, free = _FACTOR * words + _REST, shutil.disk_usage(folder).free
    if free < needed:
        raise WorkError(
            f"no space left on the disk of {folder.parent}: the next step of the index needs up "
            f"to {needed / 1e6:.1f} MB, and {free / 1e6:.1f} MB are free"
        )


def _lines(file: IO[str], numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield the lines with words, with the numbers of their arguments."""
    file.seek(0)
    for number, line in zip(numbers, file, strict=True):
        if line != "\n":
            yield number, line


def _count(file: IO[str]) -> int:
    file.seek(0)
    return sum(line != "\n" for line in file)


@contextmanager
def _scratch_folder(target: Path) -> Iterator[Path]:
    """Give a hidden folder on the same disk, which is removed at the end.

    It is locked while its process lives, so that the folders of killed processes can be removed.
    """
    folder = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
    lock = open_locked(folder, folder=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _prefix(target: Path) -> str:
    return f".{target.name}.making-"


def _sweep(target: Path) -> None:
    """Remove the folders that killed builds of this index left."""
    for left in target.parent.glob(f"{glob.escape(_prefix(target))}*"):
        remove_if_unlocked(left)
