"""Calls that Python's exit must wait for.

When Python exits, it stops the threads that still run. A thread that it stops inside compiled code
(the engine, or pydantic while it validates an argument) aborts the process with SIGABRT.
"""

from __future__ import annotations

import atexit
import os
import threading
import time


class _Completed:
    """`with completed:` makes Python's exit wait for the block; a later block never begins."""

    def __init__(self) -> None:
        self._begin_anew()
        atexit.register(self._end)
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        self._guard = threading.Lock()
        self._own = threading.local()
        self._running = 0
        self._ended = False

    def __enter__(self) -> None:
        depth = getattr(self._own, "depth", 0)
        if not depth:
            self._begin()
        self._own.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        self._own.depth -= 1
        if not self._own.depth:
            with self._guard:
                self._running -= 1

    def _begin(self) -> None:
        with self._guard:
            if not self._ended or threading.current_thread() is threading.main_thread():
                self._running += 1
                return
        threading.Event().wait()  # Python exits and ends this thread here

    def _end(self) -> None:
        with self._guard:
            self._ended = True
        while self._running:
            time.sleep(0.001)


completed = _Completed()
