"""Build an index folder atomically."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from retrieval.index.analyser import TOPICS, FieldTexts
from retrieval.index.engine import build_engine, pisa_is_here
from retrieval.index.postings import Postings
from retrieval.index.statements import ROLES, STATEMENTS, StatementGroups
from retrieval.index.store import FILE, Store, write_manifest, write_store
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError, why
from touche_rad.files.records import make_folder


def build(arguments: Iterable[Argument], location: str, *, replace: bool) -> int:
    """Build an index folder and return the number of its arguments."""
    target = Path(os.path.realpath(location))
    _check_target(target, replace)
    make_folder(target.parent)
    # Both are left behind by a build that was killed.
    folder = target.with_name(f".{target.name}.making")
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    folder.mkdir()
    try:
        count = _fill(folder, arguments)
        if target.exists():
            _check_target(target, replace)
            target.rename(old)
        folder.rename(target)
    except OSError as error:
        raise WorkError(f"{location} cannot be written: {why(error)}") from None
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
    texts = FieldTexts()

    def add(argument: Argument) -> None:
        stems = texts.add(argument)
        groups.add([stems[role] for role in ROLES])

    collection, numbers = write_store(arguments, folder, add)
    groups.write(numbers, folder / STATEMENTS)
    pisa = pisa_is_here()
    counts: dict[str, int] = {}
    for field, documents in texts.documents(numbers.tolist()).items():
        counts[field] = len(documents)
        if pisa and field != TOPICS:
            build_engine(folder / field, documents)
        else:
            Postings.build(documents, field).write(folder / field)
    write_manifest(folder, collection, counts, pisa=pisa)
    return len(numbers)


def postings_of(store: Store) -> dict[str, Postings]:
    """Return the postings of each field of stored arguments, made in memory."""
    texts = FieldTexts()
    numbers: list[int] = []
    for argument in store:
        texts.add(argument)
        number = store.number(argument.id)
        assert number is not None
        numbers.append(number)
    fields = texts.documents(numbers)
    return {field: Postings.build(documents, field) for field, documents in fields.items()}
