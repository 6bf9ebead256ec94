"""Start the server again when it is killed or crashes, while its socket is held open."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from types import FrameType
from typing import Final

from touche_rad.errors import UserError
from touche_rad.events import log

SHORT_SECONDS: Final = 60.0
MOST_SHORT: Final = 5
"""A server that ends so often in a row is not started again.

Each time within these seconds of its start, whether it answered or not."""
_SET_SIGNAL_OF_PARENTS_DEATH: Final = 1


def serve_in_workers(listener: socket.socket) -> None:
    """Return in each worker process, which serves; this process stays here until the last one ends.

    It holds the bound socket. The first worker listens on it when it is ready, as a server without
    workers does. From then on the kernel accepts connections until this process ends, and those
    that are made while a worker starts wait for it. Requests that a killed worker was answering
    are lost.

    Signals go to the worker. This process ends as its worker does if that is asked to end, ends
    without an error, or is the first and ends before it is ready.
    """
    if sys.platform != "linux":
        raise UserError("--keep-running works on Linux only: leave it out")
    numbers = (signal.SIGINT, signal.SIGTERM)
    received: list[int] = []
    short_lives = 0
    while True:
        begun = time.monotonic()
        # A signal that comes before both processes have their handlers waits.
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        worker = os.fork()
        if worker == 0:
            os.setpgid(0, 0)  # a terminal sends Ctrl-C to the first process only
            ctypes.CDLL(None).prctl(_SET_SIGNAL_OF_PARENTS_DEATH, signal.SIGTERM)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
            return

        def forward(number: int, _: FrameType | None, worker: int = worker) -> None:
            received.append(number)
            os.kill(worker, number)

        for number in numbers:
            signal.signal(number, forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
        short_lives = short_lives + 1 if time.monotonic() - begun < SHORT_SECONDS else 0
        was_ready = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if received or code == 0 or not was_ready:
            break
        if short_lives == MOST_SHORT:
            log.error("the server ended %d times in a row: it is not started again", MOST_SHORT)
            break
        log.warning("the server ended with code %d: it is started again", code)
    sys.exit(code if code >= 0 else 128 - code)  # as a shell says it of a signal
