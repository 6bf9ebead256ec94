"""Daemon threads for plain functions: as few as keep up.

A function that never returns keeps neither the process alive nor others waiting. Waking a thread
for each of many short calls would cost more than the calls, so one thread makes them in turn.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final

Job = Callable[[], Callable[[], None]]
"""Work for a thread; what it returns is called in the event loop."""

_IDLE: Final = 0.02
"""Seconds that a thread waits for its next call; under load, starting one costs more than a search.
It is short, so that a command that is done need not wait for its idle threads."""
_SHORT: Final = 0.002
"""Seconds that a job may take on average to be done in turn with others by one thread."""
_NEW: Final = 0.1
"""Weight of a new job in the average."""
_STUCK: Final = 0.01
"""Seconds between two looks whether new jobs begin."""
_AGAIN: Final = 64
"""Jobs with a thread each, after which jobs are done in turn again: threads that compete for the
interpreter make short jobs look long."""
_HELD: Final = 0.02
"""Seconds of work after which the event loop is woken for results while more jobs wait. If it were
woken for each one, both threads would wait for the interpreter in turn, at twice the cost."""
_idle: deque[SimpleQueue[Callable[[], None]]] = deque()
"""Where the idle threads wait."""
os.register_at_fork(after_in_child=_idle.clear)


class Threads:
    """Runs the jobs of one event loop in daemon threads.

    One thread does the jobs in turn while they are short. If they are long, or one does not end,
    each of the next ones gets its own thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._jobs: deque[Job] = deque()
        """Jobs that one thread does in turn."""
        self._begun = 0
        """How many of them have begun."""
        self._server = 0
        """The number of the thread that does them; 0 if none does."""
        self._servers = 0
        self._average = 0.0
        """Seconds of a job."""
        self._apart = 0
        """How many of the next jobs get their own thread."""
        self._watch: asyncio.TimerHandle | None = None
        self._done: deque[Callable[[], None]] = deque()
        self._told = False
        """Whether the event loop will look at what is done."""

    def start(self, job: Job) -> None:
        """Do a job in a thread, and call what it returns in the event loop."""
        if self._apart:
            self._apart -= 1
            _in_daemon_thread(partial(self._do_apart, job))
            return
        number = 0
        with self._lock:
            self._jobs.append(job)
            if not self._server:
                self._servers += 1
                self._server = number = self._servers
        if number:
            _in_daemon_thread(partial(self._serve, number))
        if self._watch is None:
            self._watch = self._loop.call_later(_STUCK, self._look, self._begun, 0)

    def _look(self, begun: int, times: int) -> None:
        """Give every waiting job its own thread if none has begun for a while.

        A busy machine stops threads for a while, too: only the second look in vain counts.
        """
        self._watch, waiting = None, []
        with self._lock:
            if not self._server:
                return
            times = times + 1 if self._begun == begun else 0
            stuck = times > 1
            if stuck:
                waiting = list(self._jobs)
                self._jobs.clear()
                self._server = 0
        self._settle()
        if not stuck:
            self._watch = self._loop.call_later(_STUCK, self._look, self._begun, times)
        elif waiting:
            self._apart = _AGAIN
            for job in waiting:
                _in_daemon_thread(partial(self._do_apart, job))

    def _do_apart(self, job: Job) -> None:
        self._done.append(job())
        self._tell()

    def _serve(self, number: int) -> None:
        """Do the waiting jobs in turn, until none waits or another thread does them."""
        told = time.perf_counter()
        while True:
            with self._lock:
                if number != self._server:
                    break
                if not self._jobs:
                    self._server = 0
                    break
                job = self._jobs.popleft()
                self._begun += 1
            begun = time.perf_counter()
            self._done.append(job())
            del job  # it holds a debate
            now = time.perf_counter()
            self._note(now - begun)
            if now - told > _HELD:
                self._tell()
                told = now
        self._tell()

    def _note(self, seconds: float) -> None:
        self._average += _NEW * (seconds - self._average)
        if self._average > _SHORT:
            self._apart, self._average = _AGAIN, 0.0

    def _tell(self) -> None:
        """Wake the event loop, once for all results that it has not yet seen."""
        if not self._told:
            self._told = True
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        self._told = False
        while self._done:
            self._done.popleft()()


def _in_daemon_thread(work: Callable[[], None]) -> None:
    """Run a function in an idle thread, or in a new one; one that never returns blocks no other."""
    try:
        waiting = _idle.pop()
    except IndexError:
        threading.Thread(target=_work_on, args=(work,), name="touche-rad call", daemon=True).start()
    else:
        waiting.put(work)


def _work_on(work: Callable[[], None]) -> None:
    """Run a function, then those that are put for this thread while it is idle."""
    mine: SimpleQueue[Callable[[], None]] = SimpleQueue()
    while True:
        work()
        del work  # it holds a debate and an answer
        _idle.append(mine)
        try:
            work = mine.get(timeout=_IDLE)
        except Empty:
            try:
                _idle.remove(mine)
            except ValueError:  # taken at this moment
                work = mine.get()
            else:
                return
