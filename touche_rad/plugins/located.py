"""Indexes by their location, whatever kind of home they live in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from touche_rad.debate import Argument
from touche_rad.errors import UserError, nearest
from touche_rad.plugins.given import Services
from touche_rad.plugins.home import (
    Dumps,
    IndexHome,
    KeepsMemory,
    KeepsVectors,
    OnAServer,
    VectorsWanted,
)
from touche_rad.plugins.index import ArgumentIndex
from touche_rad.plugins.registry import registered


def open_index(location: str) -> ArgumentIndex:
    """Open the index at a location, whatever kind of home it lives in."""
    return _home(location).open(location)


def build_index(
    arguments: Iterable[Argument],
    location: str,
    *,
    replace: bool = False,
    options: Mapping[str, str] | None = None,
) -> int:
    """Make an index at a location and return how many arguments it holds."""
    return _home(location, options).build(arguments, location, replace=replace)


def index_exists(location: str, options: Mapping[str, str] | None = None) -> bool:
    """Whether an index is at a location; options that its home has not are told first."""
    home = _home(location, options)
    return home.exists(location) if isinstance(home, OnAServer) else Path(location).is_dir()


def dump_index(
    location: str, path: Path, report: Callable[[int, int], None] | None = None
) -> int | None:
    """Write all arguments of a server's index to a file, going on where a killed dump was.

    Returns:
        How many there are, or None where the location is no server's.
    """
    home = _home(location)
    return home.dump(location, path, report) if isinstance(home, Dumps) else None


def add_vectors(
    location: str,
    wanted: VectorsWanted,
    *,
    of: Iterable[Argument] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> int:
    """Give an index vectors, and return how many texts were encoded."""
    home = _home(location)
    if not isinstance(home, KeepsVectors):
        raise UserError(f"{location}: no vectors can be kept there")
    return home.add_vectors(location, wanted, of=of, report=report)


def keeps_memory(location: str) -> KeepsMemory:
    """Return the home of an index that is to be annotated."""
    home = _home(location)
    if not isinstance(home, KeepsMemory):
        raise UserError(f"{location}: no memory can be kept there")
    return home


def _home(location: str, options: Mapping[str, str] | None = None) -> IndexHome:
    for plugin in registered("index").values():
        home: IndexHome = plugin.make(Services())
        if home.accepts(location):
            made: IndexHome = plugin.make(Services(), options) if options else home
            return made
    raise UserError(f"no index home accepts {location!r}{nearest(location, registered('index'))}")
