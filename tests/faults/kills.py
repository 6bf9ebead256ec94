"""Kills commands at random moments, repeats them, and compares the bytes of their outputs.

Run as `python -m tests.faults.kills VERB KILLS SEED` (respond, judge, panel, train judge,
train jury). tests/runs/killing.py does this for simulate, and tests/labelling/test_killed.py for label.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.faults.cells import content
from tests.faults.machine_faults import preload, small_inputs, start

VERBS: Final = ("respond", "judge", "panel", "train judge", "train jury")


def words(verb: str, inputs: tuple[Path, Path, Path], out: Path) -> list[str]:
    """Return a command line."""
    debates, labels, _ = inputs
    made: dict[str, tuple[object, ...]] = {
        "respond": ("respond", debates, "-i", "demo", "-d", "verbatim"),
        "judge": ("judge", debates, "-j", "grounded"),
        "panel": ("judge", debates, "-j", "grice"),
        "train judge": ("train", "judge", debates, labels),
        "train jury": ("train", "jury", debates, labels, "--of", "length,grounded"),
    }
    return [*map(str, made[verb]), "-o", str(out), "-q"]


def kill(verb: str, wanted: int, seed: int, folder: Path) -> str:
    """Kill a command until as many kills hit as wanted; each time the repetition must be the same.

    Raises:
        AssertionError: A repeated command fails, gives other bytes, or leaves something behind.
    """
    inputs = small_inputs(folder)

    def words_in(place: Path) -> list[str]:
        place.mkdir(exist_ok=True)
        return words(verb, inputs, place / "out")

    preload(words_in(folder / "preloaded"))
    whole = _run(words_in(folder / "undisturbed"))
    begun = time.monotonic()
    assert _run(words_in(folder / "again")) == whole, "the command itself gives other bytes"
    seconds = time.monotonic() - begun
    chance, kills, runs = random.Random(seed), 0, 0
    while kills < wanted:
        runs += 1
        place = folder / f"run{runs}"
        command = words_in(place)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            if not _killed(command, chance.uniform(0, seconds)):
                break
            kills += 1
        assert _run(command) == whole, f"run {runs} differs (seed {seed})"
        left = {one.name for one in place.iterdir()} - {"out", "out.status.json"}
        assert not left, f"left behind: {left}"
        shutil.rmtree(place)
    return f"{verb}: {kills} kills in {runs} runs: all files equal"


def _run(command: list[str]) -> bytes:
    ended = start(command).ended()
    assert ended.code == 0, ended.err
    return content(Path(command[command.index("-o") + 1]))


def _killed(command: list[str], seconds: float) -> bool:
    """Start the command and kill it; False if it ended before."""
    child = start(command)
    time.sleep(seconds)
    os.kill(child.process, signal.SIGKILL)
    ended = child.ended()
    assert ended.code in (0, -signal.SIGKILL), ended.err
    return ended.code != 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(kill(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(made)))
