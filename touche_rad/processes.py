"""Programs that touche-rad starts.

The current folder may be a stranger's, such as an unpacked bench. So no Python that is started
takes modules from it, and only steps of touche-rad itself get the keys and passwords of the
environment.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

SECRET: Final = ("OPENAI_", "TOUCHE_RAD_ES_", "TOUCHE_RAD_TOKEN")
"""How the names of variables begin that hold keys, or addresses that may hold one."""
_GIT_FETCHES_NOTHING: Final = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
"""A repository can name a program that fetches what it lacks."""
_GIT_FILTERS: Final = r"^filter\..*\.(clean|process|required)$"
_GIT_OFF: Final = {"core.fsmonitor": "false", "core.hooksPath": os.devnull}


def start(
    words: Sequence[str], *, gets_keys: bool = False, **options: Any
) -> subprocess.Popen[Any]:
    """Start a program; the options are those of `subprocess.Popen`."""
    return subprocess.Popen(words, env=_environment(gets_keys=gets_keys), **options)


def output_of(
    words: Sequence[str],
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run a program to its end, and return what it printed.

    Raises:
        OSError: It cannot be started.
        subprocess.CalledProcessError: It failed.
    """
    done = subprocess.run(
        words,
        cwd=folder,
        env={**_environment(gets_keys=False), **(variables or {})},
        capture_output=True,
        check=True,
        encoding="utf-8",
        errors="replace",
    )
    return done.stdout


def git(words: Sequence[str], folder: Path) -> str:
    """Return what git prints in a folder, without running a program that its settings name.

    Raises:
        OSError: git cannot be started.
        subprocess.CalledProcessError: It failed.
    """
    settings = dict(_GIT_OFF)
    query = ["git", "config", "--local", "--includes", "--name-only", "--get-regexp", _GIT_FILTERS]
    with suppress(subprocess.CalledProcessError):  # it has no filters
        for name in output_of(query, folder=folder).splitlines():
            settings[name] = "false" if name.endswith(".required") else ""
    variables = {**_GIT_FETCHES_NOTHING, "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return output_of(["git", *words], folder=folder, variables=variables)


def _environment(*, gets_keys: bool) -> dict[str, str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if gets_keys or not name.startswith(SECRET)
    }
    environment["PYTHONSAFEPATH"] = "1"
    return environment
