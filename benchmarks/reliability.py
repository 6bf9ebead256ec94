"""Let every plugin work on the same debates with one model, and check everything that it writes.

    python benchmarks/reliability.py -m vllm:MODEL [--debates FILE] [-i INDEX] [--most N] [NAME ...]

Debaters answer each user turn (`respond`), judges judge each response, panels judge each debate.
Each output is checked (`touche-rad check`; panels: one outcome a debate). The table shows what was
written, how much of it came from a fallback or has no verdict of the judge, and the model's calls.
A model without sense shows whether plugins survive any answer. Exits with code 1 if an output is
missing or invalid.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from touche_rad.demo import demo_file
from touche_rad.plugins import Kind, registered

COMMANDS: dict[Kind, tuple[str, str]] = {
    "debater": ("respond", "-d"),
    "judge": ("judge", "-j"),
    "panel": ("judge", "-j"),
}


def main() -> None:
    """Play, check, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="plugins; default: all")
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--debates", type=Path, default=demo_file("debates.jsonl"))
    parser.add_argument("-i", "--index")
    parser.add_argument("--most", type=int, help="number of debates; default: all")
    parser.add_argument("-O", action="append", default=[], metavar="KEY=VALUE", dest="options")
    given = parser.parse_args()
    failed = False
    print("| kind | plugin | written | valid | fallbacks | calls | failures | repairs | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        debates = Path(folder, "debates.jsonl")
        debates.write_text("".join(itertools.islice(lines(given.debates), given.most)), "utf-8")
        for kind in COMMANDS:
            for name, plugin in registered(kind).items():
                chosen = (
                    name in given.names if given.names else "model" in (*plugin.needs, *plugin.uses)
                )
                if chosen:
                    failed |= not play(kind, name, debates, Path(folder, f"{kind}-{name}"), given)
    sys.exit(failed)


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, which may be compressed with gzip."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        yield from file


def play(kind: Kind, name: str, debates: Path, out: Path, given: argparse.Namespace) -> bool:
    """Run one plugin, print its row, and return whether everything it wrote is valid."""
    command, flag = COMMANDS[kind]
    words = [command, debates, flag, name, "-m", given.model, "-o", out, "--quiet", "--no-trace"]
    words += ["-i", given.index] if given.index else []
    words += [word for option in given.options for word in ("-O", option)]
    began = time.monotonic()
    ran = touche_rad(*words)
    seconds = time.monotonic() - began
    written = out.read_text("utf-8").count("\n") if out.exists() else 0
    if kind == "panel":
        valid = written == debates.read_text("utf-8").count("\n")
    else:
        valid = written > 0 and touche_rad("check", "--no-status", out).returncode == 0
    status_file = out.with_name(f"{out.name}.status.json")
    status = json.loads(status_file.read_text("utf-8")) if status_file.exists() else {}
    total = status.get("usage", {}).get("total", {})
    counts = [total.get(key, 0) for key in ("calls", "failures", "repairs")]
    row = [kind, name, written, "yes" if valid else "NO", status.get("replaced", "?"), *counts]
    print(f"| {' | '.join(map(str, row))} | {seconds:.0f} |", flush=True)
    if ran.returncode or not valid:
        print(ran.stderr[-2_000:], file=sys.stderr)
    return valid and ran.returncode == 0


def touche_rad(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command of touche-rad in a process of its own."""
    command = [sys.executable, "-m", "touche_rad", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
