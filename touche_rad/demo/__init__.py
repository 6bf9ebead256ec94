"""The demo data: arguments, claims, debates and labels, written for this package."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from touche_rad.errors import UserError
from touche_rad.files.records import make_folder

if TYPE_CHECKING:
    from touche_rad.debate import Argument
    from touche_rad.plugins import ArgumentIndex

DEMO: Final = "demo"
"""The location of the demo collection's index, as in `-i demo`."""


def demo_file(name: str) -> Path:
    """Return the path of one of the bundled files."""
    return Path(__file__).parent / name


def open_demo() -> ArgumentIndex:
    """Open the index of the demo collection; the first call builds it in the user's cache."""
    from touche_rad import files
    from touche_rad.files.outputs import sha256_of

    source = demo_file("arguments.jsonl")
    digest = sha256_of(source)[:12]
    return cached_index(f"demo-index-{digest}", lambda: files.read_arguments(source))


def cached_index(name: str, arguments: Callable[[], Iterable[Argument]]) -> ArgumentIndex:
    """Open an index in the user's cache folder; one that cannot be opened is built again.

    Our version is added to its name, which should say what the arguments are.
    """
    from touche_rad import __version__
    from touche_rad.files.outputs import cache_folder, open_locked
    from touche_rad.plugins import build_index, open_index

    place = cache_folder() / f"{name}-{__version__}"
    try:
        make_folder(place.parent)
        # Several processes may start at the same time; the first builds, the others wait.
        lock = open_locked(place.parent, folder=True, wait=True)
    except OSError as error:
        raise UserError(
            f"{place.parent}: the index cannot be built there: {error.strerror}; set "
            "XDG_CACHE_HOME to a folder that you can write to"
        ) from None
    try:
        return open_index(str(place))
    except UserError:
        build_index(arguments(), str(place), replace=True)
        return open_index(str(place))
    finally:
        os.close(lock)


def is_demo(place: ArgumentIndex | Path) -> bool:
    """Whether an index or a file has exactly the arguments of the demo collection."""
    fingerprint = _fingerprint(place) if isinstance(place, Path) else place.fingerprint
    return fingerprint == _fingerprint(demo_file("arguments.jsonl"))


@cache
def _fingerprint(file: Path) -> str:
    from touche_rad import files

    digest = hashlib.sha256()
    for argument in islice(files.read_arguments(file), 2_000):  # the demo has fewer
        digest.update(f"{files.argument_line(argument)}\n".encode())
    return digest.hexdigest()[:16]
