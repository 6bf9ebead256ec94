"""Model cards: base, data, settings and measurements of a trained model; how vLLM serves it."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from touche_rad.files.records import write_text
from touche_rad.text import filled_template, map_texts

_PACKAGES: Final = ("touche-rad", "torch", "transformers", "peft", "trl")

_RANKS: Final = (8, 16, 32, 64, 128, 256, 320, 512)
"""The adapter ranks that vLLM supports."""


def versions(*also: str) -> dict[str, str]:
    """Return the versions of the installed packages that take part in training."""
    installed = {}
    for name in (*_PACKAGES, *also):
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def write_card(path: Path, *, template: str, **values: object) -> None:
    """Render `card.md.jinja` of the package `template` into a file."""
    # Commands to copy stay as they are.
    escaped = {
        key: value if key == "serve" else map_texts(value, _escape) for key, value in values.items()
    }
    write_text(path, filled_template(template, "card.md.jinja", **escaped))


def _escape(text: str) -> str:
    """Escape what would end a table cell or start a new line."""
    return text.replace("\n", " ").replace("|", "\\|").replace("`", "'")


def adapter_options(place: str, rank: int) -> dict[str, Any]:
    """Return vLLM's options for an adapter beside its base; the adapter is named by its folder."""
    # vLLM's short form NAME=PATH cannot have these characters in a path.
    short = not set(place) & set("=,")
    module = f"{place}={place}" if short else json.dumps({"name": place, "path": place})
    return {
        "enable-lora": "true",
        "max-lora-rank": next((supported for supported in _RANKS if supported >= rank), rank),
        "lora-modules": module,
    }
