"""Time and memory of `--engine ray` (`benchmarks/speed.py engine`).

Both engines judge the same generated debates with the cheapest judge. The difference between two
numbers of debates is the time per debate, without the start of Python and Ray. Memory and
processor time are those of the driver. For large numbers, workers that judge nothing give every
debate the same line, and the debates are short: only the driver works, and its own part is most of
it. A million debates take about four minutes on an idle machine with two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touche_rad.runs.journal import Done
from touche_rad.runs.worker import Block, BlockResult

WORDS = "Zoos should be closed because captivity harms animals. This is what person {} says."
BRIEF = (
    '{"id": "%d", "simulation": {"userTurns": [{"utterance": "No.", "systemResponse": '
    '{"utterance": "Yes.", "response": {"content": "Yes.", "arguments": []}}}]}}\n'
)
RAY = ("--engine", "ray", "--actors", "1")
SCRIPT = "from benchmarks.speed_engine import driver; driver()"


def report(options: argparse.Namespace) -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        print(
            "| engine | debates | wall (s) | processor (s) | memory (MiB) | wall (ms a debate) |"
            " processor (ms a debate) |"
        )
        print("| --- " * 7 + "|")
        for name, program, more, counts in (
            ("one process", ["-m", "touche_rad"], (), options.rows),
            ("Ray, one worker", ["-m", "touche_rad"], RAY, options.rows),
            ("Ray, a worker that does nothing", ["-c", SCRIPT], RAY, options.driver),
        ):
            before: tuple[int, float, float] | None = None
            for count in counts:
                write(folder / "in.jsonl", count, brief="-c" in program)
                wall, processor, memory = judged(folder, program, more)
                each = ["", ""]
                if before is not None:
                    gap = (count - before[0]) / 1000
                    each = [
                        f"{(wall - before[1]) / gap:.2f}",
                        f"{(processor - before[2]) / gap:.2f}",
                    ]
                before = count, wall, processor
                cells = (name, f"{count:,}", f"{wall:.1f}", f"{processor:.1f}", f"{memory:.0f}")
                print(f"| {' | '.join([*cells, *each])} |", flush=True)


def write(path: Path, count: int, *, brief: bool = False) -> None:
    """Write debates of one turn, or brief ones without cited arguments."""
    said = "Reserves protect more animals at a lower price, and their visitors learn more there."
    cited = [{"id": "104.3", "text": said, "arguments": [said]}]
    with path.open("w", encoding="utf-8") as out:
        for number in range(count):
            if brief:
                out.write(BRIEF % number)
                continue
            answer = {"utterance": said, "response": {"content": said, "arguments": cited}}
            turn = {"utterance": WORDS.format(number), "systemResponse": answer}
            out.write(json.dumps({"id": str(number), "simulation": {"userTurns": [turn]}}) + "\n")


def judged(folder: Path, program: Sequence[str], more: Sequence[str]) -> tuple[float, float, float]:
    """Judge the debates in a new process; return its wall and processor time and peak memory."""
    command = [sys.executable, *program, "judge", "in.jsonl", "-j", "always-yes", "-q", *more]
    path = str(Path(__file__).parent.parent)
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, "-o", "out.jsonl", "--restart", "--replace"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
    )
    _, code, used = os.wait4(process.pid, 0)
    if code:
        raise SystemExit(f"{' '.join(command)}: exit code {os.waitstatus_to_exitcode(code)}")
    wall = time.perf_counter() - begun
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


class Idle:
    """A worker that gives every debate the same line."""

    def start(self) -> None:
        """Do nothing, as every worker."""

    def open(self, *_: Any) -> str:
        """Open nothing."""
        return ""

    def run(self, _: int, block: Block) -> BlockResult:
        """Return a line of the usual length for each debate."""
        return BlockResult([(number, Done((BRIEF,))) for number, _ in block.units])

    def leave(self, _: int) -> None:
        """Close nothing."""

    def close(self) -> None:
        """Close nothing."""


def driver() -> None:
    """Run the command line with workers that do nothing."""
    from touche_rad.cli.program import main
    from touche_rad.runs import pool

    vars(pool)["Worker"] = Idle
    sys.exit(main())
