"""What is beside an index, such as vectors: folders with an `about.json`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final, TypeVar

from pydantic import BaseModel

from retrieval.index.store import checksums, verify
from touche_rad.errors import UserError, refuse_newer
from touche_rad.files.records import read_file, read_json, write_text
from touche_rad.lists import T

ABOUT: Final = "about.json"
FORMAT: Final = 2


class About(BaseModel, frozen=True):
    """What `about.json` says."""

    option: ClassVar[str]
    """The option of `touche-rad index` that makes the folder."""

    format: int = FORMAT
    collection: str
    checksums: dict[str, str] = {}
    """SHA-256 of each file; empty in older folders."""

    @classmethod
    def again(cls) -> str:
        """Say how to make the folder again."""
        return f"remove the folder and run: touche-rad index {cls.option}"

    def write(self, folder: Path) -> None:
        """Write it; it says what is complete."""
        current = checksums(folder)
        current.pop(ABOUT, None)
        about = self.model_copy(update={"checksums": current})
        write_text(folder / ABOUT, about.model_dump_json(indent=2) + "\n")


A = TypeVar("A", bound=About)


def read_about(folder: Path, kind: type[A], collection: str) -> A | None:
    """Return what `about.json` says, or None."""
    if not (folder / ABOUT).exists():
        return None
    try:
        record = read_json(folder / ABOUT)
        refuse_newer(folder, record, FORMAT)
        about = kind.model_validate(record)
    except (OSError, ValueError):
        raise UserError(f"{folder} cannot be read; {kind.again()}") from None
    if (about.format, about.collection) != (FORMAT, collection):
        raise UserError(f"{folder} belongs to another collection; {kind.again()}")
    return about


def verify_parts(index: Path) -> None:
    """Raise an error if a file of an index's vectors or annotations has changed."""
    for path in sorted(index.glob(f"*/*/{ABOUT}")):
        try:
            about = About.model_validate_json(read_file(path))
        except (OSError, ValueError):
            raise UserError(f"{path} cannot be read: remove its folder and make it again") from None
        verify(path.parent, about.checksums)


def open_parts(
    parent: Path, kind: type[A], collection: str, make: Callable[[Path, A], T]
) -> list[T]:
    """Open each folder with an `about.json`."""
    opened = []
    for folder in sorted(path.parent for path in parent.glob(f"*/{ABOUT}")):
        about = read_about(folder, kind, collection)
        assert about is not None
        verify(folder, about.checksums, once=True)
        try:
            opened.append(make(folder, about))
        except (OSError, ValueError) as error:
            raise UserError(f"{folder} is damaged ({error}); {kind.again()}") from None
    return opened
