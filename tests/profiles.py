"""Set a plugin's settings in a test, through a profile file as a user does."""

from __future__ import annotations

import json
from pathlib import Path


def with_settings(folder: Path, **settings: str | float | bool) -> dict[str, str]:
    """Write a profile with these settings to a folder and return the option that selects it."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    path = folder / "test-profile.toml"
    path.write_text("\n".join(['description = "For a test."', "[settings]", *lines]), "utf-8")
    return {"profile": str(path)}
