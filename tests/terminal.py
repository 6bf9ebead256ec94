"""The terminal as a person calls it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

STRANGER = Path(__file__).parent / "third_party"


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int
    out: str
    err: str


def touche_rad(
    *args: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stranger: bool = False,
    timeout: float = 240,
) -> Ended:
    """Call `touche-rad ARGS`; with `stranger`, a third party's package is installed."""
    environment = {**os.environ, **(env or {})}
    if stranger:
        environment["PYTHONPATH"] = str(STRANGER)
    done = subprocess.run(
        [sys.executable, "-m", "touche_rad", *map(str, args)],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)
