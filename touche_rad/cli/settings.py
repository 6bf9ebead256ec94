"""The settings file: default values of the options of all commands, or of one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

from touche_rad.cli.commands import COMMANDS
from touche_rad.cli.options import SETTINGS
from touche_rad.credentials import Servers, servers_in
from touche_rad.errors import InputError, nearest
from touche_rad.frozen import frozen
from touche_rad.text import key_values

TYPED: Final = "touche_rad.typed"
"""Where a command's context has the words that were typed after its name."""


@frozen
class SettingsFile:
    """The content of a settings file, as click's default map of each command."""

    path: Path | None = None
    values: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    is_step: bool = False
    """Whether the command is a step of another one, such as `demo`."""
    table: Mapping[str, Any] = field(default_factory=dict)
    """The file as it is."""
    trusted: Servers | None = None
    """The servers that get credentials; None: the same ones as in the command that calls this."""

    def of_call(self, call: SettingsFile) -> SettingsFile:
        """Return these settings as those of a call, whose servers and the file's are trusted."""
        trusted = call.trusted
        if trusted is not None:
            trusted |= servers_in([json.dumps(self.table, ensure_ascii=False, default=str)])
        return replace(self, is_step=call.is_step, trusted=trusted)


def load_settings(path: str) -> SettingsFile:
    """Read a settings file.

    A key at the top applies to every command with an option of this name, a table named after a
    command only to this command. The table `options`, at either place, has the values of `-O`.
    Flags and the environment replace the values of the file.
    """
    from touche_rad.files.records import read_toml

    file = Path(path)
    table = read_toml(file)
    # `index` and `judge` are settings and commands; commands have tables.
    shared = {
        key: value
        for key, value in table.items()
        if key not in COMMANDS or (key in SETTINGS and not isinstance(value, dict))
    }
    for key in shared:
        if key not in SETTINGS:
            hint = nearest(key, [*SETTINGS, *COMMANDS])
            raise InputError(file, f"there is no such setting{hint}", field=key)
    plugins = shared.pop("plugins", [])
    if not isinstance(plugins, list):
        plugins = [plugins]

    values = {}
    for command in COMMANDS:
        section = table.get(command, {}) if command not in shared else {}
        if not isinstance(section, dict):
            raise InputError(file, f"expected a table [{command}], got {section!r}", field=command)
        merged = {**shared, **section}
        options = merged.pop("options", {})
        if not isinstance(options, dict):
            raise InputError(file, f"expected a table, got {options!r}", field="options")
        values[command] = {key.replace("-", "_"): value for key, value in merged.items()}
        if options:
            values[command]["options"] = key_values(options)
    return SettingsFile(file, values, tuple(map(str, plugins)), table=table)
