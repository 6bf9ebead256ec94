"""Build an index folder atomically, with a manifest that describes it."""

from __future__ import annotations

import fcntl
import glob
import importlib.metadata
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.index.analyser import ALL, FIELDS, PARTS, content, tokens
from retrieval.index.analyser import NAME as ANALYSER
from retrieval.index.engine import build_engine
from retrieval.index.statements import STATEMENTS, Gathering, Key, key_of
from retrieval.index.store import write_store
from touche_rad import __version__
from touche_rad.debate import Argument
from touche_rad.errors import UserError

FILE = "manifest.json"
FORMAT = 4


class Manifest(BaseModel):
    """The description of an index folder."""

    model_config = ConfigDict(frozen=True)

    format: int
    collection: str
    arguments: int
    fields: dict[str, int]
    analyser: str
    sizes: dict[str, int]
    versions: dict[str, str]


def write_manifest(folder: Path, collection: str, arguments: int, fields: dict[str, int]) -> None:
    """Describe a folder that is whole."""
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    engines = ("pyterrier", "pyterrier-pisa")
    manifest = Manifest(
        format=FORMAT, collection=collection, arguments=arguments, fields=fields,
        analyser=ANALYSER, sizes=sizes,
        versions={"touche-rad": __version__}
        | {name: importlib.metadata.version(name) for name in engines},
    )  # fmt: skip
    (folder / FILE).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read and check a folder's description; whatever is wrong is told with what to do about it."""
    again = "make it anew with: touche-rad index SOURCE -o DIR --replace"
    if not folder.is_dir():
        raise UserError(f"{folder}: no index there; make it with: touche-rad index SOURCE -o DIR")
    try:
        manifest = Manifest.model_validate(json.loads((folder / FILE).read_text("utf-8")))
    except FileNotFoundError:
        raise UserError(f"{folder}: expected an index folder, it has no {FILE}") from None
    except (OSError, ValueError, ValidationError):
        raise UserError(f"{folder}: the index's {FILE} cannot be read; {again}") from None
    if (manifest.format, manifest.analyser) != (FORMAT, ANALYSER):
        raise UserError(f"{folder}: the index was made by another version of touche-rad; {again}")
    for name, size in manifest.sizes.items():
        path = folder / name
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            told = "missing" if found is None else f"{found} bytes long instead of {size}"
            raise UserError(f"{folder}: the index is damaged: {name} is {told}; {again}")
    return manifest


REMEMBERED: Final = 20_000
"""Claims and topics whose words are kept: many arguments share them."""


def build(arguments: Iterable[Argument], location: str, *, replace: bool) -> int:
    """Make an index folder and return how many arguments it holds."""
    target = Path(os.path.realpath(location))
    _may_be_made(target, replace)
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    with _beside(target) as folder:
        count = _fill(folder, arguments)
        folder.chmod(0o755)
        if target.exists():
            _may_be_made(target, replace)
            with _beside(target) as old:
                target.rename(old / "old")
                folder.rename(target)
        else:
            folder.rename(target)
    return count


def _may_be_made(target: Path, replace: bool) -> None:
    if not target.exists():
        return
    if not replace:
        raise UserError(f"{target} is there already: --replace makes it anew")
    if not target.is_dir() or (any(target.iterdir()) and not (target / FILE).is_file()):
        raise UserError(f"{target} is no index: it is not replaced")


def _fill(folder: Path, arguments: Iterable[Argument]) -> int:
    with ExitStack() as opened:
        words = {field: opened.enter_context(_scratch(folder)) for field in FIELDS}

        gathering = Gathering()

        remembered = lru_cache(REMEMBERED)(_said)

        def take(argument: Argument) -> None:
            said = {
                part: (_said if part == "text" else remembered)(content(argument, part))
                for part in PARTS
            }
            gathering.add({part: key for part, (_, key) in said.items()})
            lines = {part: line for part, (line, _) in said.items()}
            lines[ALL] = " ".join(filter(None, lines.values()))
            for field, file in words.items():
                file.write(f"{lines[field]}\n")

        collection, numbers = write_store(arguments, folder, take)
        # The engine works part of the time without Python: statements are joined meanwhile.
        with ThreadPoolExecutor(max_workers=1) as beside:
            joined = beside.submit(gathering.write, numbers, folder / STATEMENTS)
            counts = {field: _field(file, numbers, folder / field) for field, file in words.items()}
        joined.result()
    write_manifest(folder, collection, len(numbers), counts)
    return len(numbers)


def _said(text: str) -> tuple[str, Key]:
    """The words of a text in a line, and what tells its statement."""
    words = tokens(text)
    return " ".join(words), key_of(words)


def _scratch(folder: Path) -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="ascii", dir=folder)


def _field(file: IO[str], numbers: Any, folder: Path) -> int:
    """Index one field's words; a field without any gets no folder."""
    count = _count(file)
    if count:
        build_engine(folder, lambda: _lines(file, numbers.tolist()))
    return count


def _lines(file: IO[str], numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The lines that say something, with the numbers of their arguments."""
    file.seek(0)
    for number, line in zip(numbers, file, strict=True):
        if line != "\n":
            yield number, line


def _count(file: IO[str]) -> int:
    file.seek(0)
    return sum(line != "\n" for line in file)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Give a hidden folder on the same disk; whatever is in it at the end is removed.

    It is locked as long as its maker lives, so that a killed maker's can be told and swept.
    """
    folder = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _prefix(target: Path) -> str:
    return f".{target.name}.making-"


def _sweep(target: Path) -> None:
    """Remove what killed makers of this index left behind."""
    for left in target.parent.glob(f"{glob.escape(_prefix(target))}*"):
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(lock)
