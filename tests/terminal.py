"""Calls of the command line, in this process or in one of their own."""

from __future__ import annotations

import io
import json
import logging
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from touche_rad import cli
from touche_rad.plugins import registry

STRANGER = Path(__file__).parent / "third_party"


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON on standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The only line on standard error."""
        (line,) = self.err.strip().splitlines()
        return line


def touche_rad(
    *args: str | Path,
    code: int | None = 0,
    out: str = "",
    err: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stranger: bool = False,
    mixed: bool = False,
) -> Ended:
    """Call `touche-rad ARGS` in this process.

    The first text is split into words as a shell does it; each other one is a word.
    Check the exit code unless it is None, and that the call prints the texts `out` and `err`. With
    `stranger`, a third party's package is installed. With `mixed`, both texts are what a terminal shows.
    """
    words = _words(args)
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    if mixed:
        streams[1] = streams[0]
    with (
        _fresh(words, env or {}, stranger),
        chdir(cwd) if cwd else nullcontext(),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
    ):
        try:
            exit_code = cli.run(words)
        except SystemExit as end:
            exit_code = end.code if isinstance(end.code, int) else 1
    return _checked(Ended(exit_code, *map(_text, streams)), code, out, err)


def _words(args: Sequence[str | Path]) -> list[str]:
    line, *others = map(str, args)
    return [*shlex.split(line), *others]


def _checked(ended: Ended, code: int | None, out: str, err: str) -> Ended:
    assert code in (None, ended.code), ended.out + ended.err
    assert out in ended.out
    assert err in ended.err
    return ended


def check_kinds(*args: str | Path) -> set[str]:
    """Return the kinds of the findings of `touche-rad check` on valid files of the demo's index."""
    checked = touche_rad("check", *args, "--json", code=None).json
    findings = {one["kind"]: one["level"] for file in checked for one in file["findings"]}
    findings.pop("not fit to upload: demo index", None)
    assert "fault" not in findings.values(), checked
    return set(findings)


def touche_rad_process(
    *args: str | Path,
    code: int | None = 0,
    out: str = "",
    err: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 240,
) -> Ended:
    """Call `touche-rad ARGS` in a process of its own, and check what the call in this process does."""
    done = subprocess.run(
        [sys.executable, "-m", "touche_rad", *_words(args)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return _checked(Ended(done.returncode, done.stdout, done.stderr), code, out, err)


@contextmanager
def _fresh(words: list[str], env: Mapping[str, str], stranger: bool) -> Iterator[None]:
    """Undo afterwards what a call changes in its process."""
    with (
        patch.dict(os.environ, env),
        patch.object(sys, "argv", ["touche-rad", *words]),
        patch.object(sys, "path", [str(STRANGER), *sys.path] if stranger else [*sys.path]),
        patch.object(logging.root, "handlers", []),
        patch.dict(registry._decorated),
        patch.dict(registry.IMPORTED, clear=True),
    ):
        yield


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")
