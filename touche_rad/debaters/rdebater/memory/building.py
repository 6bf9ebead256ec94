"""Making a memory: block by block, kept after each, so that a killed making is gone on with.

`.memory.making/records.jsonl` holds one line an argument in the order of their numbers. The
finished memory is put together of these lines alone and appears whole, so that it has the same
bytes however often its making was interrupted.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from retrieval.index.store import Store
from touche_rad.debaters.rdebater.memory.store import MEMORY, Writing, read_about
from touche_rad.debaters.rdebater.schemes import Annotation, Annotator, Cost
from touche_rad.debaters.rdebater.schemes.annotating import OF_THE_TEXT
from touche_rad.errors import UserError, WorkError
from touche_rad.models import ModelError

CALLS: Final = 64
"""Calls of a block; after each, what is annotated is kept."""
SAMPLE: Final = 500
"""Arguments whose length tells that of all."""
RECORDS: Final = "records.jsonl"

Report = Callable[[int, int], None]


def cost(folder: Path, annotator: Annotator) -> Cost:
    """Return what annotating an index's arguments will take, less what is done already."""
    store = Store(folder)
    making = folder / f".{MEMORY}.making"
    done = _lines(making / RECORDS) if _is_of(making, _what("", annotator), loosely=True) else 0
    left = 0 if read_about(folder / MEMORY) else len(store) - done
    places = range(0, len(store), max(1, len(store) // SAMPLE))
    letters = sum(len(store.at(place).text) for place in places)
    return annotator.cost(left, letters * left // max(1, len(places)))


async def annotate(
    folder: Path, collection: str, annotator: Annotator, *, report: Report | None = None
) -> int:
    """Annotate an index's arguments and return how many have an annotation.

    Returns 0 where a memory by the same annotator is there already.

    Raises:
        UserError: There is a memory by another annotator, finished or half made.
        WorkError: The model could not be asked; what is done is kept.
    """
    target = folder / MEMORY
    with _making(folder) as making:
        before = read_about(target)
        if before is not None:
            if plain(before.by) != plain(annotator.identity):
                raise UserError(
                    f"{target} was annotated otherwise ({_difference(before.by, annotator)}): "
                    "remove it, and make it anew"
                )
            shutil.rmtree(making, ignore_errors=True)
            return 0
        _taken_up(making, _what(collection, annotator))
        store = Store(folder)
        await _record(making / RECORDS, store, annotator, report)
        made = making / MEMORY
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        annotated = _put_together(making / RECORDS, made, len(store), collection, annotator)
        made.rename(target)
        shutil.rmtree(making)
    return annotated


async def _record(path: Path, store: Store, annotator: Annotator, report: Report | None) -> None:
    """Annotate what has no line yet, a block at a time."""
    size = CALLS * annotator.per_call
    with path.open("ab") as out:
        done = _lines(path)
        done -= done % size if done < len(store) else 0
        out.truncate(_end(path, done))
        while done < len(store):
            last = min(done + size, len(store))
            texts = [store.at(number).text for number in range(done, last)]
            found = await block(texts, annotator, partial(_told, report, done, len(store)))
            try:
                out.write(b"".join(map(_line, found)))
                out.flush()
                os.fsync(out.fileno())
            except OSError as error:
                raise WorkError(f"{path}: cannot be written: {error.strerror}") from error
            done = last


def _told(report: Report | None, before: int, total: int, texts: int) -> None:
    if report is not None:
        report(min(before + texts, total), total)


async def block(
    texts: list[str], annotator: Annotator, report: Callable[[int], None]
) -> list[Annotation | ModelError]:
    """Annotate a block of texts, by as many calls as it takes, at once.

    Raises:
        WorkError: The model could not be asked, or has no answer for any text.
    """
    step = annotator.per_call
    parts = [texts[start : start + step] for start in range(0, len(texts), step)]
    answered = await annotator.model.ask_all(
        [partial(annotator.annotate, part, again=True) for part in parts],
        lambda done, _: report(min(done * step, len(texts))),
    )
    found: list[Annotation | ModelError] = []
    for part, one in zip(parts, answered, strict=True):
        found += [one] * len(part) if isinstance(one, ModelError) else one
    failed = [one for one in found if isinstance(one, ModelError)]
    stopping = [one for one in failed if not isinstance(one, OF_THE_TEXT)]
    if stopping or len(failed) == len(found):
        raise WorkError(
            f"the annotation stops: {(stopping or failed)[0]}; what is done is kept, and the same "
            "command goes on from there"
        )
    return found


def _line(one: Annotation | ModelError) -> bytes:
    value: Mapping[str, Any] = (
        {"failed": type(one).__name__}
        if isinstance(one, ModelError)
        else one.model_dump(mode="json")
    )
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _put_together(
    records: Path, folder: Path, count: int, collection: str, annotator: Annotator
) -> int:
    writing = Writing(folder, count)
    with records.open("rb") as lines:
        for line in lines:
            value = json.loads(line)
            failed = value.get("failed")
            writing.add(str(failed) if failed else Annotation.model_validate(value))
    return writing.finish(collection, annotator.identity).annotated


@contextmanager
def _making(folder: Path) -> Iterator[Path]:
    """Give the hidden folder in which a memory is made, to one process at a time."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"{folder}: another process is at work on this index") from None
        yield folder / f".{MEMORY}.making"
    finally:
        os.close(lock)


def _what(collection: str, annotator: Annotator) -> dict[str, Any]:
    return {"collection": collection, "by": annotator.identity}


def _taken_up(making: Path, what: Mapping[str, Any]) -> None:
    """Begin, or make sure that what a killed making left is of the same memory."""
    making.mkdir(exist_ok=True)
    note = making / "of.json"
    if note.is_file() and not _is_of(making, what):
        raise UserError(
            f"{making} holds annotations by another model, or by other settings, profile or "
            "prompts: go on with those, or remove it"
        )
    if not note.is_file():
        (making / RECORDS).unlink(missing_ok=True)
        fresh = making / "of.json.new"
        fresh.write_text(json.dumps(what, indent=2) + "\n", "utf-8")
        fresh.rename(note)


def _is_of(making: Path, what: Mapping[str, Any], *, loosely: bool = False) -> bool:
    try:
        told = json.loads((making / "of.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return bool(told["by"] == plain(what["by"]) if loosely else told == plain(what))


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back, so that what was written can be compared."""
    return json.loads(json.dumps(value))


def _difference(by: Mapping[str, Any], annotator: Annotator) -> str:
    now = plain(annotator.identity)
    return ", ".join(f"{key} {by.get(key)}" for key in now if plain(by.get(key)) != now[key])


def _lines(path: Path) -> int:
    """Count the whole lines of a file."""
    if not path.is_file():
        return 0
    with path.open("rb") as lines:
        return sum(line.endswith(b"\n") for line in lines)


def _end(path: Path, count: int) -> int:
    """Return where so many lines end."""
    with path.open("rb") as lines:
        return sum(len(line) for line, _ in zip(lines, range(count), strict=False))
