"""Make the documents of arguments; for a large collection, several processes make them.

The processes are started as programs and speak through pipes: a fork is unsafe beside threads, and
`multiprocessing` can run the caller's own program again.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import chain, islice
from typing import IO, Any, Final, NamedTuple

from retrieval.elastic import shape
from retrieval.index.analyser import PARTS, CollectionAnalyser
from retrieval.index.statements import ROLES, Gathered, gather
from touche_rad.errors import WorkError

_BATCH: Final = 500
"""Arguments that a process gets at a time."""
ALONE: Final = 20_000
"""Arguments at the beginning of a collection that this process analyses itself."""
_MOST: Final = 4
"""Maximum number of processes: with more of them, they wait for the reading of the collection."""


class Documents(NamedTuple):
    """The documents of some arguments, and their statements."""

    lines: bytes
    """For each argument a line with its id, and one with its document without the end."""
    statements: Gathered


class _Maker:
    """Makes documents from the JSON of arguments."""

    def __init__(self) -> None:
        self._tokens = CollectionAnalyser().tokens

    def make(self, lines: Sequence[str]) -> Documents:
        """Return the documents of arguments in order."""
        made: list[str] = []
        statements: list[Sequence[str]] = []
        tokens = cache(self._tokens)  # arguments of a topic share texts and follow each other
        for line in lines:
            record = json.loads(line)
            stems = {part: tokens(record.get(part) or "") for part in PARTS}
            statements += (stems[role] for role in ROLES)
            made += (json.dumps(shape.sendable(record["id"])), shape.begin(record, line, stems))
        return Documents(("\n".join(made) + "\n").encode("utf-8"), gather(statements))


def documents(lines: Iterable[str]) -> Iterator[Documents]:
    """Yield the documents of arguments, given as JSON, in order."""
    iterator = iter(lines)
    batches = iter(lambda: list(islice(iterator, _BATCH)), [])
    maker = _Maker()
    yield from map(maker.make, islice(batches, ALONE // _BATCH))
    if (batch := next(batches, None)) is None:
        return
    with _processes() as processes:
        if not processes:
            yield maker.make(batch)
            yield from map(maker.make, batches)
            return
        del maker
        busy: deque[subprocess.Popen[bytes]] = deque()
        for part in chain([batch], batches):
            if len(busy) < len(processes):
                process = processes[len(busy)]
            else:
                process = busy.popleft()
                yield _receive(process)
            _send(process.stdin, part)
            busy.append(process)
        yield from map(_receive, busy)


@contextmanager
def _processes() -> Iterator[Sequence[subprocess.Popen[bytes]]]:
    """Start a process per CPU, or none if there is only one CPU; end them at last."""
    count = min(_MOST, len(os.sched_getaffinity(0)))
    command = [sys.executable, "-c", f"import {__name__} as own; own.serve()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with ExitStack() as opened:
        made = [
            opened.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
                )
            )
            for _ in range(count if count > 1 else 0)
        ]
        for one in made:
            opened.callback(one.kill)
        yield made


def _send(pipe: IO[bytes] | None, value: Any) -> None:
    assert pipe is not None
    try:
        pickle.dump(value, pipe, pickle.HIGHEST_PROTOCOL)
        pipe.flush()
    except OSError:
        raise _died() from None


def _receive(process: subprocess.Popen[bytes]) -> Documents:
    assert process.stdout is not None
    try:
        made: Documents = pickle.load(process.stdout)
    except EOFError:
        raise _died() from None
    return made


def _died() -> WorkError:
    return WorkError("a process that analyses arguments was killed; repeat the command")


def serve() -> None:
    """Make documents until the input ends, which it also does if this process's starter dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    maker = _Maker()
    with suppress(EOFError, pickle.UnpicklingError, WorkError):
        while True:
            _send(sys.stdout.buffer, maker.make(pickle.load(sys.stdin.buffer)))
