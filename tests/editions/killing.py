"""Kills editions at random moments, takes them up again, and compares the folders.

Run as `python -m tests.editions.killing KILLS SEED FOLDER`. Children are forked, so that each run
starts in a millisecond.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from tests.editions.makers import WITH_LABELS, contents, write_edition
from tests.forks import fork, survived
from touche_rad import cli


def child(edition: Path) -> int:
    """Start a run in a process of its own and return its id."""

    def work() -> int:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return cli.run(["edition", "run", str(edition), "--quiet"])

    return fork(work)


def disturbed(edition: Path, chance: random.Random, seconds: float, kills: int) -> int:
    """Run with some kills at random moments, then to the end; return how many hit."""
    hit = 0
    for _ in range(kills):
        pid = child(edition)
        time.sleep(chance.uniform(0, seconds))
        os.kill(pid, signal.SIGKILL)
        hit += not survived(pid)
    assert survived(child(edition))
    return hit


def main(wanted: int, seed: int, folder: Path) -> None:
    import touche_rad.cli.edition
    import touche_rad.editions.finish
    import touche_rad.editions.folder  # noqa: F401  # loaded once, not in each child

    data = write_edition(folder / "data" / "tiny", WITH_LABELS)
    undisturbed = folder / "undisturbed" / "tiny"
    shutil.copytree(data, undisturbed)
    begun = time.monotonic()
    assert survived(child(undisturbed))
    seconds = time.monotonic() - begun
    truth = contents(undisturbed)
    chance, kills, runs = random.Random(seed), 0, 0
    while kills < wanted:
        edition = folder / "disturbed" / "tiny"
        shutil.rmtree(edition, ignore_errors=True)
        shutil.copytree(data, edition)
        kills += disturbed(edition, chance, seconds, chance.choice((2, 4, 8)))
        runs += 1
        assert contents(edition) == truth, f"run {runs} differs (seed {seed})"
    print(f"{kills} kills in {runs} runs of {seconds:.1f} s: all {len(truth)} files equal")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
