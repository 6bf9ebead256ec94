"""Several processes that serve one port, since Python code runs on one CPU per process.

The command forks before it opens anything, so that each process has its own index, threads and
connections; the index is mapped into memory, which they share. Each process listens on the port
itself (SO_REUSEPORT), and the kernel spreads the connections.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from dataclasses import dataclass, field
from typing import Final

import uvicorn

log = logging.getLogger("touche_rad")

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def address_of(host: str, port: int) -> tuple[int, int, int, tuple[str, int]]:
    """Return family, type, protocol and address of a socket that listens.

    Raises:
        OSError: The name is unknown.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return family, kind, protocol, address  # type: ignore[return-value]


def share_port(host: str, port: int) -> socket.socket:
    """Bind a socket to a port that further sockets of this user may be bound to."""
    family, kind, protocol, address = address_of(host, port)
    bound = socket.socket(family, kind, protocol)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(address)
    return bound


@dataclass(frozen=True)
class Worker:
    """One of the processes, as it sees itself."""

    number: int
    parent: int
    """A pipe that the parent process never writes to: it ends when that process ends."""
    ready: int
    """A pipe to the parent process, for one byte when this process answers requests."""


def fork_workers(count: int) -> Worker:
    """Return in each of `count` new processes; the process that calls it waits for them and exits.

    The others start when the first one answers, so that a wrong option gives one error. A process
    that ends by itself is replaced, unless it never answered: then all end with its exit code.
    """
    return _Parent(count).run()


@dataclass
class _Parent:
    """The process that starts the others, passes signals on, and waits."""

    count: int
    children: dict[int, Worker] = field(default_factory=dict)
    """The processes, with the reading end of their pipe in `ready`."""
    answered: set[int] = field(default_factory=set)
    stopping: bool = False

    def run(self) -> Worker:
        """Return in the children; exit in the parent."""
        self._lifeline = os.pipe()
        for one in _SIGNALS:
            signal.signal(one, lambda *_: self._stop())
        worker = self._fork(0)
        if worker is not None:
            return worker
        ((pid, first),) = self.children.items()
        if os.read(first.ready, 1):
            self.answered.add(pid)
            for number in range(1, self.count):
                worker = None if self.stopping else self._fork(number)
                if worker is not None:
                    return worker
        return self._wait()

    def _fork(self, number: int) -> Worker | None:
        """Return the worker in the new process, and None in this one."""
        reading, writing = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid:
            self.children[pid] = Worker(number, self._lifeline[0], reading)
            os.close(writing)
        else:
            os.close(reading)
            os.close(self._lifeline[1])
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        return None if pid else Worker(number, self._lifeline[0], writing)

    def _wait(self) -> Worker:
        """Wait until all processes have ended; return in one that replaces another."""
        code = 0
        while self.children:
            pid, status = os.wait()
            ended = self.children.pop(pid, None)
            if ended is None:
                continue
            answered = _has_answered(ended) or pid in self.answered
            how = os.waitstatus_to_exitcode(status)
            if self.stopping:
                continue
            if not answered:
                code = how
                self._stop()
                continue
            log.warning("server process %d ended with exit code %d and is replaced", pid, how)
            worker = self._fork(ended.number)
            if worker is not None:
                return worker
        sys.exit(code if code >= 0 else 1)

    def _stop(self) -> None:
        self.stopping = True
        for pid in tuple(self.children):
            os.kill(pid, signal.SIGTERM)


def _has_answered(ended: Worker) -> bool:
    """Whether a process that has ended had said that it answers requests."""
    os.set_blocking(ended.ready, False)
    try:
        return bool(os.read(ended.ready, 1))
    except BlockingIOError:
        return False
    finally:
        os.close(ended.ready)


class WorkerServer(uvicorn.Server):
    """A server that tells the parent process that it is ready, and ends with it."""

    def __init__(self, config: uvicorn.Config, worker: Worker) -> None:
        super().__init__(config)
        self._worker = worker

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the port, then tell the parent process."""
        await super().startup(sockets)
        asyncio.get_running_loop().add_reader(self._worker.parent, self._end)
        os.write(self._worker.ready, b".")
        os.close(self._worker.ready)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._worker.parent)
        self.should_exit = True
