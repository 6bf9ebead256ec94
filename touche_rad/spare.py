"""An index with another one behind it: when the first cannot be asked, the spare one is."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from touche_rad.debate import Argument, Hit
from touche_rad.errors import WorkError
from touche_rad.plugins import ArgumentIndex, arguments_by

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
