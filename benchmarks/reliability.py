"""Kill `touche-rad simulate` at random moments, resume it, and compare the output.

    python benchmarks/reliability.py --kills 100 --seed 1 --debater grounded

Runs the command on the demo's twenty debates. Each run is forked from a process with all imports,
so that a hundred kills take a minute or two. Half of the kills come at a random time, half when a
random number of debates is in the journal. Exits with code 1 at the first difference.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from touche_rad import cli
from touche_rad.demo import demo_file, ensure_index
from touche_rad.plugins import registered

DEBATES = 20


def start(claims: Path, out: Path, debater: str) -> int:
    """Start a run in a process of its own and return its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.dup2(os.open(out.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        code = cli.run(["simulate", str(claims), "-o", str(out), "-d", debater, "--seed", "3"])
    finally:
        os._exit(code)


def ended(pid: int) -> str:
    """Wait for a run and return `done` or `killed`."""
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return "killed"
    if os.WEXITSTATUS(status) != 0:
        raise SystemExit(f"a run failed by itself with exit code {os.WEXITSTATUS(status)}")
    return "done"


def records(out: Path) -> int:
    """Count the debates in the journal, including a partly written one."""
    try:
        return out.with_name(out.name + ".part").read_bytes().count(b"\n") - 1
    except FileNotFoundError:
        return 0


def kill(pid: int, out: Path, chance: random.Random, seconds: float) -> str:
    """Kill a run at a random moment unless it ends earlier."""
    if chance.random() < 0.5:
        time.sleep(chance.uniform(0, seconds))
    else:
        wanted, until = chance.randrange(1, DEBATES), time.monotonic() + 2 * seconds
        while records(out) < wanted and not out.exists() and time.monotonic() < until:
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, seconds / DEBATES))
    os.kill(pid, signal.SIGKILL)
    return ended(pid)


def warm_up() -> None:
    """Import what every run needs, so that forks start with it."""
    ensure_index()
    for kind in ("debater", "retriever", "index"):
        for plugin in registered(kind):
            _ = registered(kind)[plugin].factory
    for name in ("play", "prepare"):
        __import__(f"touche_rad.cli.{name}")
    __import__("touche_rad.runs.simulate")


def main() -> None:
    """Measure, and print one line."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--debater", default="grounded")
    given = options.parse_args()
    warm_up()
    begun, claims = time.monotonic(), demo_file("debates.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        undisturbed, out = Path(folder, "undisturbed.jsonl"), Path(folder, "disturbed.jsonl")
        assert ended(start(claims, undisturbed, given.debater)) == "done"
        seconds, truth = time.monotonic() - begun, undisturbed.read_bytes()
        assert truth.count(b"\n") == DEBATES
        chance, kills, runs = random.Random(given.seed), 0, 0
        while kills < given.kills:
            out.unlink(missing_ok=True)
            while kill(start(claims, out, given.debater), out, chance, seconds) == "killed":
                kills += 1
                if chance.random() < 0.7:
                    break
            ended(start(claims, out, given.debater))
            runs += 1
            if out.read_bytes() != truth:
                sys.exit(f"run {runs} differs from the undisturbed one (seed {given.seed})")
    spent = time.monotonic() - begun
    print(f"{kills} kills in {runs} runs of {seconds:.2f} s: all files equal ({spent:.0f} s)")


if __name__ == "__main__":
    main()
