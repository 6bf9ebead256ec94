"""Texts that are compared whole with a golden file.

The exact wording of a message, a table or a help text stands only in `tests/golden/screens`:

    check_screen("judge.no-model", touche_rad("judge", "run.jsonl"))

Other tests look at exit codes, fields, names and numbers. After a deliberate change of a text, write
the files anew and read their diff:

    WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/FOLDER
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests import ROOT
from tests.terminal import Ended
from touche_rad import __version__

SCREENS: Final = Path(__file__).parent / "golden" / "screens"

CHANGING: Final = (
    (re.compile(re.escape(os.environ["XDG_CACHE_HOME"])), "CACHE"),
    (re.compile(re.escape(str(ROOT))), "REPOSITORY"),
    (re.compile(re.escape(__version__)), "VERSION"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d+|(?<=localhost:)\d+"), "PORT"),
    (re.compile(r"\b\d+(\.\d+)?(?= ?(?:ms|s|min|h)\b)"), "N"),
    (re.compile(r"^\w+: (\d+) of (?!\1$)\d+\n", re.MULTILINE), ""),  # progress after ten seconds
    (re.compile(r"\d{4}-\d\d-\d\d(T| )\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
)
"""What differs between two machines or two runs."""


def check_screen(name: str, ended: Ended) -> None:
    """Compare what a command printed, and its exit code, with `tests/golden/screens/NAME.txt`.

    Times, ports, versions and the folder of the test are replaced. Call the command with relative
    paths: the length of a path changes how a text is wrapped.
    """
    screen = f"exit code {ended.code}\n--- standard output\n{ended.out}"
    if not screen.endswith("\n"):
        screen += "\n"
    _check_stable(name, f"{screen}--- standard error\n{ended.err}")


def check_messages(name: str, messages: Mapping[str, Ended]) -> None:
    """Compare what several calls printed on standard error with `tests/golden/screens/NAME.txt`.

    Each is below the line that names it, such as the command.
    """
    texts = [f"{line}\n{ended.err}" for line, ended in messages.items()]
    _check_stable(name, "\n".join(texts))


def _check_stable(name: str, text: str) -> None:
    text = text.replace(str(Path.cwd()), "FOLDER")
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    lines = [line.rstrip() for line in text.splitlines()]
    check_golden(SCREENS / f"{name}.txt", "\n".join(lines) + "\n")


def check_record(name: str, record: object) -> None:
    """Compare JSON data with `tests/golden/records/NAME.json`."""
    text = json.dumps(record, ensure_ascii=False, indent=1)
    check_golden(SCREENS.parent / "records" / f"{name}.json", f"{text}\n")


def check_golden(path: Path, text: str) -> None:
    """Compare a text with its golden file; with WRITE_GOLDEN=1, write the file first."""
    if os.environ.get("WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8"), f"after a deliberate change: WRITE_GOLDEN=1 ({path})"
