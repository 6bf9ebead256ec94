"""Set a plugin's settings in a test, through a profile file as a user does."""

from __future__ import annotations

import json
from pathlib import Path

from tests.records import write_lines


def with_settings(**settings: str | float | bool) -> dict[str, str]:
    """Write a profile with these settings and return the option that selects it."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    path = Path("test-profile.toml").absolute()
    write_lines(path, ['description = "For a test."', "[settings]", *lines])
    return {"profile": str(path)}
