"""Model cards: base, data, settings and measurements of a trained model; how vLLM serves it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import jinja2

from touche_rad.files.records import write_text
from touche_rad.text import packaged_text

_PACKAGES: Final = ("touche-rad", "torch", "transformers", "peft", "trl")
_JINJA: Final = jinja2.Environment(
    undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
)

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
    source = packaged_text(template, "card.md.jinja")
    # Commands to copy stay as they are.
    escaped = {key: value if key == "serve" else _escape(value) for key, value in values.items()}
    page = _JINJA.from_string(source).render(**{"left_out": {}, **escaped})
    write_text(path, page.strip() + "\n")


def _escape(value: object) -> Any:
    """Escape what would end a table cell or start a new line."""
    if isinstance(value, str):
        return value.replace("\n", " ").replace("|", "\\|").replace("`", "'")
    if isinstance(value, Mapping):
        return {str(key): _escape(inner) for key, inner in value.items()}
    return list(map(_escape, value)) if isinstance(value, list | tuple) else value


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
