"""Threads that ask at the same time are answered by one search.

While one thread searches, the others wait in a line; the first of them then searches for the whole
line. So a search's time under load is about two rounds for everybody. Left to themselves, threads
would be starved: the one that has Python asks again and again before the others get there.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from weakref import WeakSet

Found = list[list[tuple[float, int]]]
Search = Callable[[Sequence[str], int], Found]


@dataclass(eq=False)
class _Asked:
    queries: Sequence[str]
    k: int
    found: Found | None = None
    leads: bool = False
    left: bool = False
    called: threading.Event = field(default_factory=threading.Event)


class Together:
    """A search that many threads may ask, and that is done by one at a time."""

    def __init__(self, search: Search, most: int) -> None:
        """Take the search, and how many queries are enough for one."""
        self._search = search
        self._most = most
        self._clear()
        _all.add(self)

    def _clear(self) -> None:
        self._guard = threading.Lock()
        self._line: deque[_Asked] = deque()
        self._searching = False

    def best(self, queries: Sequence[str], k: int) -> Found:
        """Return what the search finds for these queries."""
        mine = _Asked(queries, k)
        try:
            self._queue(mine)
            return mine.found if mine.found is not None else self._lead(mine)
        finally:
            self._leave(mine)

    def _queue(self, mine: _Asked) -> None:
        """Wait until this one is answered or leads."""
        with self._guard:
            ended = _ended.is_set() and threading.current_thread() is not threading.main_thread()
            if not self._searching and not ended:
                self._searching = mine.leads = True
                return
            if not ended:
                self._line.append(mine)
        mine.called.wait()

    def finish(self) -> None:
        """Wait until nobody searches."""
        while self._searching:
            time.sleep(0.001)

    def _lead(self, mine: _Asked) -> Found:
        """Answer all who wait; what fails for all is tried for this one alone."""
        others = self._waiting(mine)
        try:
            found = iter(self._search([q for one in (mine, *others) for q in one.queries], mine.k))
        except BaseException as error:
            with self._guard:
                self._line.extendleft(one for one in reversed(others) if not one.left)
            if others and isinstance(error, Exception):
                return self._search(mine.queries, mine.k)
            raise
        mine.found = [next(found) for _ in mine.queries]
        for one in others:
            one.found = [next(found) for _ in one.queries]
            one.called.set()
        return mine.found

    def _waiting(self, mine: _Asked) -> list[_Asked]:
        """Those of the line who can be answered along with this one."""
        room = self._most - len(mine.queries)
        taken: list[_Asked] = []
        with self._guard:
            for one in tuple(self._line):
                if one.k == mine.k and len(one.queries) <= room:
                    self._line.remove(one)
                    taken.append(one)
                    room -= len(one.queries)
        return taken

    def _leave(self, mine: _Asked) -> None:
        """Whoever led lets the next one lead, also where it was broken off."""
        with self._guard:
            mine.left = True
            if mine in self._line:
                self._line.remove(mine)
            if not mine.leads:
                return
            if self._line:
                first = self._line.popleft()
                first.leads = True
                first.called.set()
            else:
                self._searching = False


_all: WeakSet[Together] = WeakSet()
_ended = threading.Event()


def _begin_anew() -> None:
    """A forked process has none of the threads that were searching or waiting."""
    for one in _all:
        one._clear()


def _end() -> None:
    """Python ends, and threads with it; one that is in the engine then would break the process."""
    _ended.set()
    for one in tuple(_all):
        one.finish()


os.register_at_fork(after_in_child=_begin_anew)
atexit.register(_end)
