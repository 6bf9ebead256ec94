"""Settings from a file: `touche-rad.toml`, below flags and environment and above the defaults.

Keys at the top hold for every verb that has an option of that name; a table named after a verb
holds for that verb alone. `options` (a table, at either place) are the plugin's own.
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
    """What a settings file says, as click's default map, verb by verb."""

    path: Path | None = None
    values: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()


def load(path: str | None, verbs: Collection[str]) -> Settings:
    """Read the named file, or the one in this folder, or nothing."""
    place = Path(path) if path else Path(DEFAULT_FILE)
    if not path and not place.is_file():
        return Settings()
    table = _parse(place)
    shared = {key: value for key, value in table.items() if key not in verbs}
    for key in shared:
        if key not in SHARED:
            raise InputError(
                place, f"there is no such setting{nearest(key, [*SHARED, *verbs])}", field=key
            )
    plugins = shared.pop("plugins", [])
    values = {verb: _flat(place, {**shared, **_table(place, table, verb)}) for verb in verbs}
    return Settings(place, values, tuple(plugins))


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"expected TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read: {why(error)}") from None


def _table(path: Path, table: Mapping[str, Any], verb: str) -> dict[str, Any]:
    own = table.get(verb, {})
    if not isinstance(own, dict):
        raise InputError(path, f"expected a table [{verb}], got {own!r}", field=verb)
    return own


def _flat(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    options = values.pop("options", {})
    if not isinstance(options, dict):
        raise InputError(path, f"expected a table, got {options!r}", field="options")
    flat = {key.replace("-", "_"): value for key, value in values.items()}
    if options:
        flat["option"] = [f"{key}={_string(value)}" for key, value in options.items()]
    return flat


def _string(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
