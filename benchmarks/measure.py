"""Write measurements into a page of the documentation.

    python benchmarks/measure.py PAGE.md [WORD ...]

A measurement is a part of the page between two comments. The first one holds a command:

    <!-- measurement
    python benchmarks/speed.py start
    -->
    ...
    <!-- end of measurement -->

The commands run one after the other; `WORD` takes only those that contain one of the words. The
command and its output are written between the comments, with the machine and the day. Variables
such as $TOUCHE_RAD_DATA stay as they are written. Unlike figures (benchmarks/figures.py),
measurements differ from machine to machine, so nothing checks that they are fresh.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MEASUREMENT = re.compile(
    r"<!-- measurement\n(?P<command>[^\n]*)\n-->\n.*?<!-- end of measurement -->", re.DOTALL
)


def main() -> None:
    """Measure, and write the page after each measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", type=Path, metavar="PAGE.md")
    parser.add_argument("words", nargs="*", metavar="WORD")
    given = parser.parse_args()
    for found in MEASUREMENT.finditer(given.page.read_text("utf-8")):
        command = found["command"]
        if given.words and not any(word in command for word in given.words):
            continue
        print(f"== {command}", flush=True)
        made = measured(command)
        text = given.page.read_text("utf-8")
        given.page.write_text(text.replace(found[0], made), "utf-8")


def measured(command: str) -> str:
    """Run a command in a shell, and return its part of the page."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
    )
    if done.returncode:
        raise SystemExit(f"measure: {command}: exit code {done.returncode}")
    day = datetime.datetime.now(datetime.UTC).date()
    where = f"{day}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}"
    return (
        f"<!-- measurement\n{command}\n-->\n\n`{command}` ({where})\n\n{done.stdout.strip()}\n\n"
        "<!-- end of measurement -->"
    )


if __name__ == "__main__":
    main()
