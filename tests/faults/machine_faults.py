"""Faults of the machine, at every command that writes a result. They need root, for small disks."""

from __future__ import annotations

import importlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.faults import model_places
from tests.faults.cells import SAME, STOPS, Broken, Command, Group, Observe, observe
from tests.terminal import Ended
from touche_rad import cli
from touche_rad.demo import demo_file

PLACES: Final = model_places.PLACES
SIGNALS: Final = 3
"""Random moments for each signal and place; the kill tests have a hundred."""
Prepare = Callable[[], None]


def small_inputs(folder: Path, count: int = 4) -> tuple[Path, Path, Path]:
    """Write the first debates, labels and claims of the demo to a folder."""
    found = []
    for name, lines in (
        ("debates.jsonl", count),
        ("labels.jsonl", count),
        ("claims.tsv", count + 1),
    ):
        path = folder / name
        path.write_text("".join(demo_file(name).read_text().splitlines(keepends=True)[:lines]))
        found.append(path)
    return found[0], found[1], found[2]


def words_of(place: str, folder: Path) -> tuple[list[str], str]:
    """Return the command line of a place without a model, and the name of its output."""
    debates, _, claims = small_inputs(folder.parent)
    made: dict[str, tuple[list[object], str]] = {
        "debater": (["respond", debates, "-i", "demo", "-d", "verbatim"], "responses.jsonl"),
        "judge": (["judge", debates, "-j", "grounded"], "evaluations.jsonl"),
        "panel": (["judge", debates, "-j", "grice"], "outcomes.jsonl"),
        "simulated user": (["simulate", claims, "-i", "demo", "--turns", "2"], "simulations.jsonl"),
    }
    words, output = made[place]
    return [*map(str, words), "-o", str(folder / output)], output


@dataclass(frozen=True)
class Child:
    """A command in a fork of this process, which saves the imports."""

    process: int
    out: Path

    def ended(self) -> Ended:
        """Wait for its end."""
        status = os.waitpid(self.process, 0)[1]
        code = os.waitstatus_to_exitcode(status)
        err = self.out.read_text(errors="replace")
        self.out.unlink()
        return Ended(code, "", err)


_MODULES: Final = """
import sys
from touche_rad import cli
code = cli.run(sys.argv[2:])
open(sys.argv[1], "w").write("\\n".join(sys.modules))
sys.exit(code)
"""


def preload(words: Sequence[str]) -> None:
    """Import what a command imports, so that a fork begins with its work at once.

    The command runs in a process of its own for that, because a fork inherits no threads.
    """
    with tempfile.NamedTemporaryFile("r") as file:
        called = [sys.executable, "-c", _MODULES, file.name, *words]
        subprocess.run(called, check=True, capture_output=True)
        for name in file.read().splitlines():
            with suppress(Exception):
                importlib.import_module(name)


def start(words: Sequence[str], prepare: Prepare = lambda: None) -> Child:
    """Start a command in a fork; `prepare` runs there first."""
    file, name = tempfile.mkstemp(prefix="touche-rad-faults-")
    process = os.fork()
    if process:
        os.close(file)
        return Child(process, Path(name))
    code = 70
    try:
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.close(file)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _keep_temporary_folders()
        prepare()
        cli.main(list(words))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
    raise AssertionError


def _keep_temporary_folders() -> None:
    """Keep the temporary folders of the process that was forked when this fork ends.

    A command whose threads still run at its end calls the functions of `atexit` itself.
    """
    for inherited in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        inherited.atexit = False


def few_descriptors() -> None:
    """Leave three file descriptors."""
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 3, used + 3))


def little_memory() -> None:
    """Leave 4 MiB of address space."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + 4 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def clock_jumps() -> None:
    """Let the clock jump by up to a year, forwards and backwards, at every look at it."""
    chance, real = random.Random(1), time.time
    time.time = lambda: real() + chance.uniform(-3e7, 3e7)


def no_terminal() -> None:
    """Close the standard streams, as Python finds them then."""
    for stream in (0, 1, 2):
        os.close(stream)
    sys.stdin = sys.stdout = sys.stderr = None  # type: ignore[assignment]


def full_terminal() -> None:
    """Let every line that is printed fail."""
    file = os.open("/dev/full", os.O_WRONLY)
    os.dup2(file, 1)


@dataclass(frozen=True)
class Disk:
    """A small file system in memory."""

    folder: Path

    def fill(self, free: int) -> None:
        """Fill it but for some bytes."""
        left = os.statvfs(self.folder)
        (self.folder / "filler").write_bytes(bytes(left.f_bavail * left.f_frsize - free))

    def clear(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    """Mount a file system of one MiB."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", folder], check=True)


@contextmanager
def full(made: Disk, free: int) -> Iterator[None]:
    made.fill(free)
    try:
        yield
    finally:
        made.clear()


@contextmanager
def read_only(made: Disk) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", made.folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", made.folder], check=True)


@contextmanager
def nothing() -> Iterator[None]:
    yield


PREPARED: Final[Mapping[str, tuple[Prepare, str]]] = {
    "file descriptors used up": (few_descriptors, STOPS),
    "memory used up": (little_memory, STOPS),
    "the clock jumps": (clock_jumps, SAME),
    "no terminal": (no_terminal, SAME),
    "standard output is full": (full_terminal, SAME),
}
SIGNALLED: Final = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}
KINDS: Final = {
    "full disk": STOPS,
    "disk full after 4 KiB": STOPS,
    "read-only output folder": STOPS,
    **{kind: promise for kind, (_, promise) in PREPARED.items()},
    **{f"{name} at random moments": STOPS for name in SIGNALLED},
    "two processes on one output": SAME,
}


class Machine:
    """The commands with their outputs on a small disk."""

    def __init__(self, made: Disk) -> None:
        self.disk = made
        self.truths: dict[str, bytes] = {}
        self.seconds: dict[str, float] = {}
        self.chance = random.Random(3)

    def cell(self, kind: str, place: str) -> str:
        """Return what happened with a fault at a place."""
        words, output = words_of(place, self.disk.folder)
        command = Command(self.disk.folder, lambda: start(words).ended(), output)
        if place not in self.truths:
            preload(words)
            command.clear()
            self.truths[place] = command.truth()
            begun = time.monotonic()
            command.truth()
            self.seconds[place] = time.monotonic() - begun
        truth = self.truths[place]
        if kind.startswith("SIG"):
            return self._signalled(SIGNALLED[kind.split()[0]], command, words, truth, place)
        if kind == "two processes on one output":
            return observe(command, truth, nothing(), faulty=lambda: _both(words))
        if kind in PREPARED:
            prepare = PREPARED[kind][0]
            return observe(command, truth, nothing(), faulty=lambda: start(words, prepare).ended())
        faults = {
            "full disk": full(self.disk, 0),
            "disk full after 4 KiB": full(self.disk, 4096),
            "read-only output folder": read_only(self.disk),
        }
        return observe(command, truth, faults[kind])

    def _signalled(
        self, number: int, command: Command, words: list[str], truth: bytes, place: str
    ) -> str:
        """Send a signal at random moments; a run that ended before it counts as well."""

        def run() -> Ended:
            child = start(words)
            time.sleep(self.chance.uniform(0, self.seconds[place]))
            os.kill(child.process, number)
            return child.ended()

        happened = {observe(command, truth, nothing(), faulty=run) for _ in range(SIGNALS)}
        broken = [one for one in happened if one not in (SAME, STOPS)]
        return broken[0] if broken else STOPS


def _both(words: list[str]) -> Ended:
    """Start a command twice at once; the first to end with its work done counts."""
    children = [start(words), start(words)]
    both = [child.ended() for child in children]
    for one in both:
        if one.code and "error: " not in one.err:
            raise Broken(f"the second process ends without a line: {one.err[-200:]}")
    return min(both, key=lambda one: one.code)


@contextmanager
def observing(folder: Path) -> Iterator[Observe]:
    """Mount the small disk."""
    with disk(folder / "disk") as made:
        yield Machine(made).cell


GROUP = Group(
    "The machine",
    {kind: dict.fromkeys(PLACES, promise) for kind, promise in KINDS.items()},
    observing,
)
