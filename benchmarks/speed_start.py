"""Time the start of a process (`benchmarks/speed.py start`): import, help, and one cold answer.

With `--against CHECKOUT` each command also runs with the code of another checkout, in turns.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import touche_rad": ["-c", "import touche_rad"],
    "touche-rad --help": ["-m", "touche_rad", "--help"],
    "touche-rad check FILE": ["-m", "touche_rad", "check", "touche_rad/demo/debates.jsonl"],
    "touche-rad respond --say": ["-m", "touche_rad", "respond", "--say", "Zoos are cruel."],
    "touche-rad judge FILE": [
        "-m",
        "touche_rad",
        "judge",
        "touche_rad/demo/debates.jsonl",
        "--json",
    ],
}


def report(options: argparse.Namespace) -> None:
    """Print the least processor time of each command."""
    checkouts = [ROOT, *([options.against] if options.against else [])]
    for name, command in COMMANDS.items():
        best = [9e9 for _ in checkouts]
        for _ in range(options.rounds):
            for place, checkout in enumerate(checkouts):
                best[place] = min(best[place], once(command, checkout))
        other = f"; other: {best[1]:.2f}, {best[1] / best[0]:.1f}x" if options.against else ""
        print(f"- `{name}`: {best[0]:.2f} s{other}", flush=True)


def once(command: list[str], checkout: Path) -> float:
    """Run a command in a checkout; return its processor time in seconds."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *command],
        check=True,
        capture_output=True,
        cwd=checkout,
        env={**kept, "PYTHONPATH": str(checkout)},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
