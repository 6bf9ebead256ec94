"""The names of the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from touche_rad.text import packaged_table

GROUPS: Final[Mapping[str, Mapping[str, str]]] = packaged_table(__package__, "commands.toml")
"""The commands by group, with their purposes; `touche_rad/cli/NAME.py` has the command NAME."""

COMMANDS: Final = {name: purpose for group in GROUPS.values() for name, purpose in group.items()}
