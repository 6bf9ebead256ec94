"""Write the figures of README and docs that our own commands produce, or check that they are fresh.

    python benchmarks/figures.py [--check] [FILE.md ...]

A figure is a part of a Markdown file between two comments. The first one holds the commands:

    <!-- figure
    touche-rad judge touche_rad/demo/debates.jsonl -o judged.jsonl
    touche-rad score judged.jsonl touche_rad/demo/labels.jsonl
    -->
    ...
    <!-- end of figure -->

The standard output of the last command is written between them, as a code block. `figure session`
writes `$ COMMAND` above it; `figure table` writes the output as it is, for Markdown tables;
`head=N` keeps the first N lines, and `wrap` breaks long ones. The commands run in an empty folder
with `touche_rad/` and `benchmarks/` of this repository, without a model and without settings, in a
terminal of 80 columns. They must give the same output on every machine: no times, no sizes, no
extras.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parent.parent
END = "<!-- end of figure -->"
FIGURE = re.compile(
    r"<!-- figure(?P<form>[^\n]*)\n(?P<commands>.*?)-->\n(?P<body>.*?)" + re.escape(END), re.DOTALL
)
COLUMNS = "80"
WIDTH = 100


@dataclass(frozen=True)
class Figure:
    """A figure in a file."""

    form: str
    commands: tuple[str, ...]

    def make(self) -> str:
        """Run the commands and return the Markdown."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("touche_rad", "benchmarks"):
                (Path(folder) / name).symlink_to(ROOT / name)
            for command in self.commands:
                output = run(command, Path(folder))
        most = re.search(r"head=(\d+)", self.form)
        lines = [line.rstrip() for line in output.splitlines()][: int(most[1]) if most else None]
        if "wrap" in self.form:
            lines = [part for line in lines for part in wrap(line)]
        text = "\n".join(lines).strip("\n")
        if "table" in self.form:
            return f"\n{text}\n\n"
        if "session" in self.form:
            asked = "".join(f"$ {command}\n" for command in self.commands)
            return f"```console\n{asked}{text}\n```\n"
        return f"```text\n{text}\n```\n"


def wrap(line: str) -> list[str]:
    """Break a line as a terminal output of ours is broken."""
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, WIDTH, subsequent_indent=f"{indent}  ") or [""]


def run(command: str, folder: Path) -> str:
    """Run a command of ours and return its standard output."""
    program, *args = shlex.split(command)
    start = {"touche-rad": [sys.executable, "-m", "touche_rad"], "python": [sys.executable]}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(OWN)}
    done = subprocess.run(
        [*start[program], *args],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**kept, "COLUMNS": COLUMNS, "NO_COLOR": "1", "PYTHONPATH": str(ROOT)},
    )
    if done.returncode:
        raise SystemExit(f"figures: {command}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


OWN = ("TOUCHE_RAD_", "OPENAI_", "inputDataset", "outputDir", "FORCE_COLOR")
"""Variables of the environment that change what a command does."""


def figures_in(text: str) -> list[Figure]:
    """Return the figures of a Markdown text."""
    return [
        Figure(found["form"].strip(), tuple(found["commands"].strip().splitlines()))
        for found in FIGURE.finditer(text)
    ]


def fresh(path: Path, pool: ThreadPoolExecutor) -> str:
    """Return the text of a file with new figures."""
    text = path.read_text("utf-8")
    made = iter(list(pool.map(Figure.make, figures_in(text))))
    return FIGURE.sub(
        lambda found: f"{found[0][: found.start('body') - found.start()]}{next(made)}{END}", text
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if any is stale")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.md")
    parser.add_argument("--papers", action="store_true", help="print the table of docs/papers.md")
    given = parser.parse_args()
    if given.papers:
        print_papers()
        return
    files = given.files or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    stale = 0
    with (
        ThreadPoolExecutor(len(files)) as readers,
        ThreadPoolExecutor(os.cpu_count() or 1) as commands,
    ):
        texts = readers.map(lambda path: fresh(path, commands), files)
        for path, text in zip(files, texts, strict=True):
            old = path.read_text("utf-8")
            if text == old:
                continue
            stale += 1
            if given.check:
                name = str(path)
                changes = difflib.unified_diff(
                    old.splitlines(), text.splitlines(), name, "now", lineterm=""
                )
                print("\n".join(changes))
            else:
                path.write_text(text, "utf-8")
                print(f"written: {path}")
    if given.check and stale:
        raise SystemExit(f"{stale} files have stale figures; write them with: make figures")


def print_papers() -> None:
    """Print the table of docs/papers.md; each table is run on small data, with example answers."""
    from tests.bench.small_data import command_of, write_small_data
    from touche_rad.papers.tables import load, names

    data = write_small_data(Path(tempfile.mkdtemp()))
    os.environ["TOUCHE_RAD_WEB"] = str(data)
    rows: dict[tuple[str, str, str], list[str]] = {}
    for name in names():
        table = load(name)
        status = [] if "index" in table.data else played(command_of(name, data, "http://any#model"))
        used = [one["usage"]["total"] for one in status if one.get("usage")]
        units = sum(one["units"] for one in status if one["verb"] == "judge") or 1
        calls = sum(one["calls"] for one in used) / units
        tokens = sum(one["prompt_tokens"] + one["completion_tokens"] for one in used) / units
        options = ["-i"] * ("{index}" in " ".join((*table.steps, *table.each)))
        options += ["--model-of"] * any(row.system and row.model for row in table.rows)
        paper, _, number = name.partition("/")
        cost = f"{number} ({calls:.0f}/{tokens / 1000:.0f}k)"
        rows.setdefault((paper, ", ".join(table.data), ", ".join(options)), []).append(cost)
    for (*where, options), tables in rows.items():
        print(f"- {', '.join([*where, *filter(None, [options])])}: {', '.join(tables)}")


def played(words: list[str]) -> list[dict[str, Any]]:
    """Run a command with example answers, and return the status of each run that it makes."""
    from tests.terminal import touche_rad
    from touche_rad.models import model
    from touche_rad.models.examples import Examples

    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        patch.object(model, "open_backend", lambda *_, **__: Examples(varied=True)),
    ):
        touche_rad(*words)
        return [json.loads(path.read_text("utf-8")) for path in Path().rglob("*.status.json")]


if __name__ == "__main__":
    main()
