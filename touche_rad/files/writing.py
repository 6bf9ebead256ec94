"""Writing: one line for each record, and whole files that are there or are not."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from touche_rad.debate import Argument, Debate, Response
from touche_rad.files.evaluations import Evaluation, Labels, evaluation_record, labels_record
from touche_rad.files.lines import Place
from touche_rad.files.messages import annotated_record, chat_record, response_record
from touche_rad.files.parts import plain
from touche_rad.files.record import dump
from touche_rad.files.simulations import simulation_record


def simulation_line(debate: Debate) -> str:
    """Write a debate as the official client does."""
    return dump(simulation_record(debate))


def annotated_line(debate: Debate) -> str:
    """Write a debate as in the official annotated debates."""
    return dump(annotated_record(debate))


def chat_line(debate: Debate) -> str:
    """Write a debate as a chat request."""
    return dump(chat_record(debate))


def response_line(debate: Debate, turn: int, response: Response) -> str:
    """Write the response to the last turn of a debate, with the request it answers."""
    return dump(response_record(debate, turn, response))


def evaluation_line(evaluation: Evaluation) -> str:
    """Write a judged debate as the official client does."""
    return dump(evaluation_record(evaluation))


def labels_line(turns: tuple[Labels, ...]) -> str:
    """Write the labels of one debate."""
    return dump(labels_record(turns))


def argument_line(argument: Argument) -> str:
    """Write an argument as in a collection."""
    return dump(plain(argument))


@contextmanager
def atomic_write(path: Place) -> Iterator[IO[str]]:
    """Yield a text file that stands at `path` when all was written, and not before.

    `-` and what is no regular file, such as a terminal or a pipe, is written as it comes.
    """
    if str(path) == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    with _replacing(target) as stream:
        yield stream


@contextmanager
def _replacing(target: Path) -> Iterator[IO[str]]:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name[:60]}.", suffix=".new"
    )
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
