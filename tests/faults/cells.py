"""A cell of the campaign's table: one fault at one place, with and without which a command runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.terminal import Ended

SAME: Final = "same"
TURN: Final = "turn"
STOPS: Final = "stops"
UNPRINTED: Final = "not printed"
WORDS: Final = {
    SAME: "the result is that of a run without the fault, byte for byte",
    TURN: (
        "only the affected turn is poorer (with a panel, the affected debate; if the claim of a "
        "simulated debate is affected, each of its turns), and the record names the turn and the "
        "cause; exit code 0"
    ),
    STOPS: (
        "one line says what is wrong, and no output is written; exit code 1, or 2 before any work, "
        "or by the signal"
    ),
    UNPRINTED: (
        "the output is that of a run without the fault, byte for byte, and one line says that what "
        "the command prints is lost; exit code 1"
    ),
}
"""What may happen. Everything else is a defect."""


class Broken(Exception):
    """A promise that was not kept."""


Observe = Callable[[str, str], str]
"""Returns what happened with a kind of fault at a place: a word of WORDS, or what is wrong."""


@dataclass(frozen=True)
class Group:
    """Kinds of faults of one part, and what is promised for each at each place."""

    name: str
    promises: Mapping[str, Mapping[str, str]]
    observing: Callable[[Path], AbstractContextManager[Observe]]
    """Sets up what the cells need, in a folder."""


@dataclass
class Command:
    """A command that is run in a folder, and what it leaves there."""

    folder: Path
    run: Callable[[], Ended]
    output: str
    affected: frozenset[str] = frozenset()
    """The turns that the fault affects, as DEBATE.TURN or DEBATE."""
    differing: Callable[[bytes, bytes], set[str]] = lambda truth, made: set()
    """The turns in which two outputs differ."""
    named: Callable[[Path, Ended], set[str]] | None = None
    """The turns that the record says are poorer; default: by the status."""

    @property
    def path(self) -> Path:
        return self.folder / self.output

    def clear(self) -> None:
        """Remove what earlier runs left."""
        for path in self.folder.glob(f"{self.output}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def truth(self) -> bytes:
        """Return the output of a run without a fault."""
        self.clear()
        ended = self.run()
        if ended.code != 0:
            raise Broken(f"fails without a fault: {ended.err}")
        poorer = (self.named or named_by_status)(self.path, ended)
        if poorer:
            raise Broken(f"poorer without a fault: {listed(poorer)}")
        return content(self.path)


def content(path: Path) -> bytes:
    """Return the bytes of a file, or of all files of a folder with their names."""
    if path.is_dir():
        inner = sorted(one for one in path.rglob("*") if one.is_file())
        return b"".join(str(one.relative_to(path)).encode() + one.read_bytes() for one in inner)
    return path.read_bytes()


def observe(
    command: Command,
    truth: bytes,
    fault: AbstractContextManager[object],
    *,
    faulty: Callable[[], Ended] | None = None,
    repeats: bool = True,
) -> str:
    """Run a command with a fault, then again without it, and return what happened.

    Args:
        command: The command; what earlier runs left is removed.
        truth: Its output without a fault.
        fault: The fault, present while the context is open.
        faulty: Runs the command where that is not the usual way.
        repeats: Whether to run the command again without the fault.
    """
    command.clear()
    try:
        with fault:
            ended = (faulty or command.run)()
        happened = judge(command, truth, ended)
        if happened != SAME and repeats:
            again = command.run()
            if again.code != 0:
                raise Broken(f"does not recover: {last_line(again)}")
            if content(command.path) != truth:
                raise Broken("another result after the fault")
    except Broken as broken:
        return f"DEFECT: {broken}"
    return happened


def judge(command: Command, truth: bytes, ended: Ended) -> str:
    """Return what happened, as a word of WORDS; raise Broken for anything else."""
    if "Traceback" in ended.err:
        raise Broken(f"a traceback: {last_line(ended)}")
    if "internal error" in ended.err:
        raise Broken(f"an error that names no cause: {last_line(ended)}")
    if ended.code == 0:
        return _finished(command, truth, ended)
    if command.path.exists():
        if "error: standard output: " in ended.err and content(command.path) == truth:
            return UNPRINTED
        raise Broken(f"exit code {ended.code}, but there is an output")
    if ended.code > 0 and "error: " not in ended.err and "stopped" not in ended.err:
        raise Broken(f"exit code {ended.code} without a line that says why: {last_line(ended)}")
    return STOPS


def _finished(command: Command, truth: bytes, ended: Ended) -> str:
    made = content(command.path)
    differing = command.differing(truth, made) if made != truth else set()
    if made != truth and not differing:
        raise Broken("the result differs, and not in a turn")
    named = (command.named or named_by_status)(command.path, ended)
    if differing - command.affected:
        raise Broken(f"poorer than it must be: {listed(differing)}")
    if differing - named:
        raise Broken(f"poorer, and no record: {listed(differing - named)}")
    if named - command.affected:
        raise Broken(
            f"the record names turns that are not affected: {listed(named - command.affected)}"
        )
    return TURN if named else SAME


def named_by_status(path: Path, _: Ended) -> set[str]:
    """Return the turns that the status of a run calls poorer; each needs a cause."""
    beside = path.with_name(f"{path.name}.status.json")
    if not beside.exists():  # such as that of touche-rad retrieve
        return set()
    status: dict[str, Any] = json.loads(beside.read_text())
    for one in status["stand_ins"]:
        if not one["reason"]:
            raise Broken("the status names no cause")
    in_part = _judged_in_part(path, status["examples"].get("judged in part", ()))
    return {turn for one in status["stand_ins"] for turn in one["turns"]} | in_part


def _judged_in_part(path: Path, notes: Iterable[str]) -> set[str]:
    """Return the numbers of the debates of notes such as `REASON (ID)`."""
    found = set()
    for number, line in enumerate(path.read_text().splitlines(), 1) if notes else ():
        mine = [one for one in notes if one.endswith(f" ({json.loads(line)['id']})")]
        if any(one.startswith(" (") for one in mine):
            raise Broken("a note names no cause")
        found |= {str(number)} if mine else set()
    return found


def listed(turns: Iterable[str]) -> str:
    return ", ".join(sorted(turns))


def last_line(ended: Ended) -> str:
    lines = ended.err.strip().splitlines() or ended.out.strip().splitlines() or [""]
    return lines[-1][:300]
