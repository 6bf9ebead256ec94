"""Fallbacks: results that are not from the selected plugin, or that it made without its model.

Each has a cause. The first failure of each kind is logged with its place in the plugin's code, and
its traceback is written to a file beside the run.
"""

from __future__ import annotations

import inspect
import logging
import re
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from touche_rad.debate import FALLBACK, Response
from touche_rad.errors import ToucheRadError, WorkError, innermost, safe_lines, traceback_text
from touche_rad.events import log
from touche_rad.files.outputs import Result
from touche_rad.files.records import append_text
from touche_rad.frozen import frozen
from touche_rad.models import ModelError
from touche_rad.text import excerpt, printable, redact

ERRORS: Final = ".errors.txt"
"""Suffix of the file with the tracebacks of a run."""
ANSWERS: Final = "answers"
"""The name of the count of answers."""
UTTERANCES: Final = "utterances"
"""The kind of the simulated user's results; a debate has as many utterances as answers."""
_UNCITED: Final = "answers citing nothing"
_LONGEST_REASON: Final = 300


def uncited(answers: Iterable[Response | None]) -> dict[Result, int]:
    """Count the answers that cite no argument; empty if there are none."""
    count = sum(answer is not None and not answer.arguments for answer in answers)
    return {_UNCITED: count} if count else {}


class FallbackStop(WorkError):
    """The first fallback of a run with `--strict`."""


class InvalidResult(ValueError):
    """A plugin returned something that is not a valid result."""


@frozen
class Fallback:
    """Results that are not from the selected plugin, or that it made without its model."""

    plugin: str
    """What failed, such as `debater sinai`."""
    by: str
    """The name of what made the results; empty if they are missing."""
    what: Result
    """The kind of result, such as `answers`; also the name of its count in the status."""
    kind: str
    """The class of the error."""
    reason: str
    """What happened, in one line."""
    place: str = ""
    """File, line and function of the plugin's code where the error was raised."""
    count: int = 1
    turn: int = 0
    """Turn of the debate, counted from 1; 0 for a whole debate."""
    without_model: bool = False
    """Whether the selected plugin itself made the results, without its model."""

    @property
    def group(self) -> tuple[str | bool, ...]:
        """What fallbacks of equal causes have in common."""
        return (self.plugin, self.by, self.without_model, self.what, self.kind, self.place)

    @property
    def source(self) -> str:
        """What made the results, for people."""
        return f"{self.by} without its model" if self.without_model else self.by

    @property
    def cause(self) -> str:
        """What failed, why and where."""
        return f"{self.reason} ({self.place})" if self.place else self.reason

    @property
    def mark(self) -> dict[str, str]:
        """The field that marks a result in its record."""
        return {FALLBACK: printable(redact(self.cause))}

    @property
    def notice(self) -> str:
        """One line for a user who sees the answer."""
        return printable(f"{self.cause}: this {self.what.removesuffix('s')} is from {self.source}")


@dataclass
class FailureLog:
    """Where failures of plugins are reported to: the log, and a file of tracebacks."""

    path: Path | None = None
    """The file of tracebacks, which is made at the first failure. The path is absolute, because a
    plugin may change the working folder."""
    strict: bool = False
    """Whether to stop at the first fallback."""
    shows: bool = True
    """Whether to log the first failure of each kind as a warning."""
    first_fault: Exception | None = None
    """The first error of a unit that is a fault of ours."""
    _seen: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, fallback: Fallback, error: BaseException) -> None:
        """Log the first failure of its kind and write its traceback."""
        error = innermost(error)
        kind = (fallback.plugin, fallback.kind, fallback.place)
        is_new = kind not in self._seen
        self._seen.add(kind)
        log.log(
            logging.WARNING if is_new and self.shows else logging.DEBUG,
            "%s",
            printable(redact(fallback.cause)),
            exc_info=error if log.isEnabledFor(logging.DEBUG) else None,
        )
        if is_new:
            self._write(fallback.cause, error)

    def check(self, *fallbacks: Fallback) -> tuple[Fallback, ...]:
        """Return the fallbacks of a turn, whose results are kept.

        Raises:
            FallbackStop: A result is a fallback, and the run is strict.
        """
        if self.strict and fallbacks:
            raise FallbackStop(f"stopped at the first fallback (--strict): {fallbacks[0].cause}")
        return fallbacks

    def add_fault(self, what: str, error: Exception) -> None:
        """Write the traceback of a fault of ours, which no fallback answers for."""
        log.debug("%s", printable(redact(what)), exc_info=error)
        if isinstance(error, ToucheRadError):
            return  # its text says what to do
        self.first_fault = self.first_fault or error
        kind = (type(error).__name__, str(error))
        if kind not in self._seen:
            self._seen.add(kind)
            self._write(what, error)

    def _write(self, cause: str, error: BaseException) -> None:
        if not self.path:
            return
        text = f"{safe_lines(cause)}\n{traceback_text(error)}\n\n"
        # The file may be published with the run: it names no folders of this machine.
        text = re.sub(r'(File ")(?:/|\w:).*[/\\]', r"\1", text).replace(str(Path.home()), "~")
        try:
            append_text(self.path, text)
        except OSError as problem:
            log.warning("%s cannot be written: %s", self.path, problem.strerror)
            self.path = None


def fallback_for(
    plugin: str,
    module: str,
    error: Exception,
    *,
    by: str,
    what: Result,
    count: int = 1,
    turn: int,
    without_model: bool = False,
) -> Fallback:
    """Return the fallback for a failure of a plugin, whose class is in a module."""
    inner = innermost(error)
    return Fallback(
        plugin=plugin,
        by=by,
        what=what,
        kind=type(inner).__name__,
        reason=describe_failure(plugin, inner),
        place="" if isinstance(inner, ModelError | TimeoutError) else _place(inner, module),
        count=count,
        turn=turn,
        without_model=without_model,
    )


def describe_failure(plugin: str, error: BaseException) -> str:
    """Return what happened, in one line."""
    words = excerpt(error, _LONGEST_REASON)
    if isinstance(error, ModelError):
        return f"{plugin}: {error.problem} ({words})" if words else f"{plugin}: {error.problem}"
    if isinstance(error, InvalidResult):
        return f"{plugin} gave no valid result: {words}"
    # Our own errors are written for people.
    name = "" if isinstance(error, WorkError) else type(error).__name__
    return ": ".join(filter(None, (f"{plugin} failed", name, words)))


def _place(error: BaseException, module_name: str) -> str:
    """Return file, line and function of the innermost frame in the plugin's code."""
    module = sys.modules.get(module_name)
    if not module:
        return ""
    try:
        path_of_module = Path(inspect.getfile(module))
    except TypeError:  # built in, or of a notebook
        return ""
    package = path_of_module.parent if module.__package__ else path_of_module
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if package in (path, *path.parents):
            place = f"{path.name}:{frame.lineno} in {frame.name}"
    return place
