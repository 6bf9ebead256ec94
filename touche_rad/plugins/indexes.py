"""Indexes by location, and an index with a fallback."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from touche_rad.debate import Argument, Hit
from touche_rad.errors import UserError, WorkError, nearest
from touche_rad.plugins.contracts import (
    ArgumentIndex,
    Dumps,
    IndexHome,
    KeepsMemory,
    KeepsVectors,
    OnAServer,
    Services,
    VectorsWanted,
    arguments_by,
)
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


log = logging.getLogger("touche_rad")

REST: Final = 30.0
"""Seconds for which an index that could not be asked is left alone."""

T = TypeVar("T")


class SparedIndex:
    """Asks the first index, and the spare one while the first is down.

    Only what an index cannot help (a dead server, a red cluster) makes it be left alone; a wrong
    password or name is the user's to mend and is told.
    """

    def __init__(self, first: Callable[[], ArgumentIndex], spare: ArgumentIndex) -> None:
        """Open the first index where that can be done now; later it is tried again."""
        self._open = first
        self._spare = spare
        self._lock = threading.Lock()
        self._first: ArgumentIndex | None = None
        self._again = 0.0
        self._same = True
        self._ask(lambda index: index.fingerprint)

    def _ask(self, call: Callable[[ArgumentIndex], T]) -> T:
        first = self._ready()
        if first is not None:
            try:
                return call(first)
            except WorkError as error:
                self._leave(error)
        return call(self._spare)

    def _ready(self) -> ArgumentIndex | None:
        with self._lock:
            if time.monotonic() < self._again:
                return None
            if self._first is None:
                try:
                    self._first = self._open()
                    self._compared(self._first)
                except WorkError as error:
                    self._rest(error)
                    return None
            return self._first

    def _compared(self, first: ArgumentIndex) -> None:
        self._same = first.fingerprint == self._spare.fingerprint
        if not self._same:
            log.warning("the spare index holds other arguments than the first")

    def _leave(self, error: WorkError) -> None:
        with self._lock:
            self._rest(error)

    def _rest(self, error: WorkError) -> None:
        self._again = time.monotonic() + REST
        log.warning("the spare index is used for %g s: %s", REST, error)

    def __len__(self) -> int:
        return self._ask(len)

    @property
    def fingerprint(self) -> str:
        """What tells this content from another: the spare index's, which is always there."""
        return self._spare.fingerprint

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""
        return self._ask(lambda index: index.get(argument_id))

    def get_all(self, ids: Sequence[str]) -> list[Argument | None]:
        """Return the argument of each id, or None."""
        return self._ask(lambda index: arguments_by(index, ids))

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument, of the spare index: it cannot break off in the middle."""
        return self._spare.arguments()

    def scored(self, field: str, queries: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """Return each query's best ids with their scores."""
        return self._ask(lambda index: index.scored(field, queries, k))

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        """Return the best `k` arguments by one field."""
        return self._ask(lambda index: index.search(field, query, k))

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search many queries at once."""
        return self._ask(lambda index: index.search_all(field, queries, k))

    def __getattr__(self, name: str) -> Any:
        """What an index may know besides (meaning, links) is asked of the spare one.

        It knows that of its own arguments only: where they are others, it is not asked.
        """
        if name.startswith("_") or not self._same:
            raise AttributeError(name)
        return getattr(self._spare, name)
