"""The settings file `touche-rad.toml`; flags and the environment replace its values.

A key at the top applies to every command with an option of this name. A table named after a command
applies to this command only. The table `options`, at either place, has the values of `-O`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from touche_rad.errors import InputError, nearest, why

DEFAULT_FILE = "touche-rad.toml"
SHARED = (
    "debater", "judge", "retriever", "index", "seed", "max_words", "deadline", "workers",
    "quiet", "skip_bad", "turns", "host", "port", "options", "plugins",
    "model", "cache", "max_calls", "max_tokens", "run_deadline", "trace", "metadata",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The content of a settings file, as click's default map of each command."""

    path: Path | None = None
    values: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()


def load(path: str | None, commands: Collection[str]) -> Settings:
    """Read the given file, or `touche-rad.toml` in this folder if it exists."""
    place = Path(path) if path else Path(DEFAULT_FILE)
    if not path and not place.is_file():
        return Settings()
    table = _parse(place)
    shared = {key: value for key, value in table.items() if key not in commands}
    for key in shared:
        if key not in SHARED:
            raise InputError(
                place, f"there is no such setting{nearest(key, [*SHARED, *commands])}", field=key
            )
    plugins = shared.pop("plugins", [])
    values = {one: _flat(place, {**shared, **_table(place, table, one)}) for one in commands}
    return Settings(place, values, tuple(plugins))


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"expected TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read: {why(error)}") from None


def _table(path: Path, table: Mapping[str, Any], command: str) -> dict[str, Any]:
    own = table.get(command, {})
    if not isinstance(own, dict):
        raise InputError(path, f"expected a table [{command}], got {own!r}", field=command)
    return own


def _flat(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    options = values.pop("options", {})
    if not isinstance(options, dict):
        raise InputError(path, f"expected a table, got {options!r}", field="options")
    flat = {key.replace("-", "_"): value for key, value in values.items()}
    if options:
        flat["options"] = [f"{key}={_string(value)}" for key, value in options.items()]
    return flat


def _string(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
