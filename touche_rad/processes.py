"""Programs that touche-rad starts.

The current folder may be a stranger's, such as an unpacked bench. So no Python that is started
takes modules from it, and only steps of touche-rad itself get the keys and passwords of the
environment.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Any, Final

SECRET: Final = ("OPENAI_", "TOUCHE_RAD_ES_", "TOUCHE_RAD_TOKEN")
"""How the names of variables begin that hold keys, or addresses that may hold one."""


def start(
    words: Sequence[str], *, gets_keys: bool = False, **options: Any
) -> subprocess.Popen[Any]:
    """Start a program; the options are those of `subprocess.Popen`."""
    return subprocess.Popen(words, env=_environment(gets_keys=gets_keys), **options)


def output_of(words: Sequence[str]) -> str:
    """Run a program to its end, and return what it printed.

    Raises:
        OSError: It cannot be started.
        subprocess.CalledProcessError: It failed.
    """
    done = subprocess.run(
        words,
        env=_environment(gets_keys=False),
        capture_output=True,
        check=True,
        encoding="utf-8",
        errors="replace",
    )
    return done.stdout


def _environment(*, gets_keys: bool) -> dict[str, str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if gets_keys or not name.startswith(SECRET)
    }
    environment["PYTHONSAFEPATH"] = "1"
    return environment
