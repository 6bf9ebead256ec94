"""Verify an edition: every hash, every figure and every page, from the files alone."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.editions.cells import Cell, cells_of
from touche_rad.editions.figures import compute
from touche_rad.editions.finish import result_files
from touche_rad.editions.folder import EditionFolder
from touche_rad.editions.page import page_files, write_pages
from touche_rad.editions.plan import Loaded
from touche_rad.editions.record import FIGURES, RECORD, SUMS, read_record, read_sums
from touche_rad.errors import ToucheRadError
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import read_json
from touche_rad.score.evaluations import digests
from touche_rad.text import redact_data

_SHORT: Final = 12
MISSING: Final = "missing"


def verify(folder: EditionFolder) -> Iterator[str]:
    """Yield the differences between an edition's files and its hashes, figures and pages.

    A caller that needs only the first one stops there. An edition without a difference is verified.

    Raises:
        UserError: The folder is not a finished edition.
    """
    record = read_record(folder.results)
    sums = read_sums(folder.path)
    # A missing file is reported before the manifest is read, which would refuse it.
    yield from _missing(folder, sums)
    loaded = folder.load()
    late = {folder.results / FIGURES, folder.results / RECORD, *page_files(folder.results)}
    yield from _hashes(folder, loaded, sums, late)
    yield from _record(folder, loaded, record)
    for cell in cells_of(loaded):
        yield from _chain(loaded, folder.results, cell)
    yield from _computed(folder, loaded)
    yield from _hashes(folder, loaded, sums, set())


def count_figures(folder: EditionFolder) -> int:
    """Count the figures of an edition."""
    return sum(1 for _ in _leaves(json.loads((folder.results / FIGURES).read_text("utf-8"))))


def _missing(folder: EditionFolder, sums: dict[str, str]) -> Iterator[str]:
    for name in sums:
        if not (folder.path / name).is_file():
            yield f"{folder.path / name}: the file is missing"


def _hashes(
    folder: EditionFolder, loaded: Loaded, sums: dict[str, str], late: set[Path]
) -> Iterator[str]:
    """Compare the hashes of all files, without those that are named better by what follows."""
    results = result_files(folder.results, cells_of(loaded))
    for path in [folder.manifest, *loaded.data.values(), *results]:
        name = path.relative_to(folder.path).as_posix()
        if path in late:
            continue
        if not path.is_file():
            yield f"{path}: the file is missing"
        elif name not in sums:
            yield f"{folder.path / SUMS}: {name} is not listed"
        elif (found := sha256_of(path)) != sums[name]:
            yield f"{path}: SHA-256 is {found[:_SHORT]}…, expected {sums[name][:_SHORT]}…"


def _record(folder: EditionFolder, loaded: Loaded, record: dict[str, Any]) -> Iterator[str]:
    """Compare the record with the manifest and the files."""
    place = folder.results / RECORD
    if record.get("plan") != redact_data(loaded.plan.model_dump(mode="json")):
        yield f"{place}: plan differs from {folder.manifest}"
    found = {path.name: sha256_of(path) for path in loaded.data.values()}
    found |= {cell.path: sha256_of(folder.results / cell.path) for cell in cells_of(loaded)}
    recorded = {**(record.get("inputs") or {}), **(record.get("outputs") or {})}
    for name in {**found, **recorded}:
        if found.get(name) != recorded.get(name):
            yield f"{place}: the hash of {name} differs from the file's"


def _chain(loaded: Loaded, results: Path, cell: Cell) -> Iterator[str]:
    """Check that verdicts are on the debates that were played, and debates on the claims."""
    out, source = results / cell.path, cell.source(loaded, results)
    try:
        if cell.plays:
            before = [one.claim for one in files.read_claims(source)]
            after = [one.claim for one in files.read_debates(out)]
        else:
            before = [str(digests(one)) for one in files.read_debates(source)]
            after = [str(digests(one.debate)) for one in files.read_evaluations(out)]
    except ToucheRadError as error:
        yield str(error)
        return
    for number, pair in enumerate(zip_longest(before, after), 1):
        if pair[0] != pair[1]:
            yield f"{out}:{number}: the debate is not the one in {source}"


def _computed(folder: EditionFolder, loaded: Loaded) -> Iterator[str]:
    """Compute the figures and the pages again, and compare them."""
    place = folder.results / FIGURES
    computed = compute(loaded, folder.results)
    try:
        written = read_json(place)
    except ValueError as error:
        yield f"{place}: not JSON: {error}"
        return
    right = json.loads(computed.text())
    for key, found, expected in compare_json(written, right):
        yield f"{place}: {key} is {_shown(found)}, the files give {_shown(expected)}"
    with tempfile.TemporaryDirectory() as name:
        fresh = Path(name)
        write_pages(loaded, folder.results, computed, fresh)
        names = {path.relative_to(fresh) for path in page_files(fresh)}
        names |= {path.relative_to(folder.results) for path in page_files(folder.results)}
        for one in sorted(names):
            there, again = folder.results / one, fresh / one
            if not there.is_file():
                yield f"{there}: the file is missing"
            elif not again.is_file():
                yield f"{there}: the edition has no such page"
            elif there.read_bytes() != again.read_bytes():
                yield f"{there}: the page differs from the one that the files give"


def compare_json(found: Any, expected: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the keys in which two JSON values differ, with both values."""
    left, right = dict(_leaves(found)), dict(_leaves(expected))
    for key in {**right, **left}:
        if left.get(key, MISSING) != right.get(key, MISSING):
            yield key, left.get(key, MISSING), right.get(key, MISSING)


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value inside a JSON value with its key, such as `debaters.0.yes`."""
    inner: Iterator[tuple[Any, Any]] | None = None
    if isinstance(value, dict):
        inner = iter(value.items())
    elif isinstance(value, list):
        inner = iter(enumerate(value))
    if inner is None or not value:
        yield key, value
        return
    for name, one in inner:
        yield from _leaves(one, f"{key}.{name}" if key else str(name))


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value!r:.80}"
