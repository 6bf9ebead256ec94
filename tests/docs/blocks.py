"""The code blocks of the documents, and how one is run.

Each block names its language. `sh` and `console` blocks are commands; a `console` block shows them
after `$ `, with the output. `python` blocks run, or are saved under the name in the text above
them ("Save this as `NAME`"). The blocks of a page run in one folder, in order. Two comments change that:

    <!-- needs: model -->        the next block only has its syntax checked
    <!-- setup                   commands that run without being shown
    touche-rad ...
    -->

Sybil would only replace the pattern `BLOCK`: commands, their outputs, saved files and marks would
still need evaluators of ours.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from tests import ROOT
from tests.terminal import Ended, touche_rad

PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(path for path in ROOT.glob("docs/**/*.md") if "reference" not in path.parts),
)
"""The documents, without the pages that are generated."""
NEEDS = {
    "model": "a language model",
    "server": "Elasticsearch or another server",
    "extra": "an optional extra of the package",
    "docker": "a container engine",
    "network": "packages, images or data from the network",
    "account": "an account at TIRA",
    "files": "files of the reader's own",
    "person": "somebody at the terminal or the browser; it does not end by itself",
    "hours": "more than a minute",
}
"""What a block may need that the tests do not have."""
BLOCK = re.compile(
    r"(?:^ *<!-- needs: (?P<needs>[a-z, ]+) -->\n)?"
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$"
    r"|^<!-- setup\n(?P<setup>.*?)^-->$"
    r"|^<!-- figure.*?<!-- end of figure -->$",
    re.DOTALL | re.MULTILINE,
)
SAVED = re.compile(r"[Ss]ave (?:it|this) as\s+`([^`]+)`")
PLAIN = re.compile(r"(?P<env>(?:\w+=\S* )*)touche-rad (?P<args>[^|;&<>$`*]*)")
"""A call of ours that needs no shell."""


HERE_DOCUMENT = re.compile(r"<<'?(\w+)'?\n.*?^\1$", re.DOTALL | re.MULTILINE)
PROGRESS = re.compile(r"^\w+: \d+ of \d+(, .*)?\n", re.MULTILINE)
"""What a terminal shows as a bar."""


@dataclass(frozen=True)
class Block:
    """A code block of a document."""

    page: str
    line: int
    language: str
    body: str
    needs: frozenset[str] = frozenset()
    saved_as: str | None = None
    indented: bool = False

    @property
    def place(self) -> str:
        """Return where the block stands."""
        return f"{self.page}:{self.line}"

    def commands(self) -> list[tuple[str, str]]:
        """Return each command with the output that is shown below it."""
        if self.language == "console":
            parts = re.split(r"^\$ ", self.body.replace("\\\n", " "), flags=re.MULTILINE)[1:]
            return [(part.partition("\n")[0], part.partition("\n")[2].strip()) for part in parts]
        text = HERE_DOCUMENT.sub(lambda match: match[0].replace("\n", "\v"), self.body)
        lines = text.replace("\\\n", " ").split("\n")
        return [
            (line.replace("\v", "\n"), "")
            for line in lines
            if line.strip() and not line.startswith("#")
        ]

    def calls(self) -> Iterator[str]:
        """Yield the arguments of each call of `touche-rad` in the block."""
        if self.language in ("sh", "console", "setup"):
            for command, _ in self.commands():
                call = re.match(r"(?:\w+=\S* )*touche-rad ((?!\.\.\.).*)", command)
                if call:
                    yield call[1]


def blocks_of(path: Path) -> list[Block]:
    """Return the blocks of a document, except the figures, which `make check-figures` compares."""
    text, blocks, end = path.read_text("utf-8"), [], 0
    page = str(path.relative_to(ROOT))
    for match in BLOCK.finditer(text):
        before, end = text[end : match.start()], match.end()
        line = text.count("\n", 0, match.start()) + 1
        if match["setup"] is not None:
            blocks.append(Block(page, line, "setup", match["setup"]))
        elif match["body"] is not None and not match["language"].startswith("{"):
            names = SAVED.findall(before)
            indent = match["indent"]
            body = re.sub(f"^{indent}", "", match["body"], flags=re.MULTILINE)
            needs = frozenset((match["needs"] or "").split(", ")) - {""}
            saved = names[-1] if names and match["language"] not in ("sh", "console") else None
            blocks.append(
                Block(page, line, match["language"], body, needs, saved, indented=bool(indent))
            )
    return blocks


@dataclass
class Reader:
    """A reader who follows a page in a folder of their own."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = self.folder
        for name in ("touche_rad", "judges", "benchmarks", "tira.yml"):
            (self.folder / name).symlink_to(ROOT / name)

    def follow(self, block: Block) -> None:
        """Save, import or run a block, and compare its output."""
        if block.saved_as:
            (self.folder / block.saved_as).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / block.saved_as).write_text(block.body, "utf-8")
        elif block.language == "python":
            with chdir(self.folder), redirect_stdout(StringIO()):
                exec(compile(block.body, block.place, "exec"), self.names)
        elif block.language in ("sh", "console", "setup"):
            self.folder = self.home
            for command, expected in block.commands():
                self.enter(command, expected, block.place)

    def enter(self, command: str, expected: str, place: str) -> None:
        """Run a command and compare its output, if one is shown."""
        if moved := re.fullmatch(r"cd (\S+)", command.split(" #")[0].strip()):
            self.folder = (self.folder / moved[1]).resolve()
            return
        ended = self.run(command)
        fails = bool(re.search(r"^error: ", expected, re.MULTILINE))
        output = f"{place}: $ {command}\n{ended.out}{ended.err}"
        assert (ended.code != 0) == fails, output
        assert not expected or _shows(ended, expected), output

    def run(self, command: str) -> Ended:
        """Run a command in this process if it is one of ours alone, else in a shell."""
        env = {**self.env, "COLUMNS": "80", "NO_COLOR": "1"}
        if plain := PLAIN.fullmatch(command.split(" #")[0].rstrip()):
            variables = dict(variable.split("=", 1) for variable in shlex.split(plain["env"]))
            return touche_rad(
                *shlex.split(plain["args"]), cwd=self.folder, env={**env, **variables}, code=None
            )
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env={**os.environ, **env, "PATH": programs, "PYTHONPATH": str(ROOT)},
        )
        return Ended(done.returncode, done.stdout, done.stderr)


def _shows(ended: Ended, expected: str) -> bool:
    """Tell whether a command printed an output, or wrote it among its other messages.

    Words are compared, without spaces and line ends. `…` stands for any words; seconds may differ.
    """
    words = [".*?" if word == "…" else re.escape(word) for word in _timeless(expected).split()]
    pattern = re.compile(r"\s*".join(words))
    out, err = (
        " ".join(_timeless(text).split()) for text in (ended.out, PROGRESS.sub("", ended.err))
    )
    return bool(pattern.fullmatch(out) or pattern.search(err) or pattern.search(f"{err} {out}"))


def _timeless(text: str) -> str:
    return re.sub(r"\b\d+(\.\d+)? s\b", "0 s", text)
