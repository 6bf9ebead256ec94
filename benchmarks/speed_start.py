"""Time the start of a process (`benchmarks/speed.py start`): import, help, and one cold answer.

With `--against CHECKOUT` each command also runs with the code of another checkout, in turns.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import touche_rad": ["-c", "import touche_rad"],
    "touche-rad --help": ["-m", "touche_rad", "--help"],
    "touche-rad check FILE": ["-m", "touche_rad", "check", "touche_rad/demo/debates.jsonl"],
    "touche-rad respond --say": ["-m", "touche_rad", "respond", "--say", "Zoos are cruel."],
}


def report(options: argparse.Namespace) -> None:
    """Print the least wall time and the least processor time of each command."""
    checkouts = [ROOT, *([options.against] if options.against else [])]
    print(
        "| command | wall (s) | processor (s) |"
        + (" other: wall | processor | ratio |" if options.against else "")
    )
    print("| --- | --- | --- |" + (" --- | --- | --- |" if options.against else ""))
    for name, command in COMMANDS.items():
        best = [(9e9, 9e9) for _ in checkouts]
        for _ in range(options.rounds):
            for place, checkout in enumerate(checkouts):
                wall, processor = once(command, checkout)
                best[place] = min(best[place][0], wall), min(best[place][1], processor)
        cells = [f"{value:.2f}" for pair in best for value in pair]
        ratio = [f"{best[1][1] / best[0][1]:.1f}x"] if options.against else []
        print(f"| `{name}` | {' | '.join([*cells, *ratio])} |", flush=True)


def once(command: list[str], checkout: Path) -> tuple[float, float]:
    """Run a command in a checkout; return its wall time and processor time in seconds."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, *command],
        check=True,
        capture_output=True,
        cwd=checkout,
        env={**kept, "PYTHONPATH": str(checkout)},
    )
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
