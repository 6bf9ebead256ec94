"""The model card: what a model was made of, how, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Final

import jinja2

from touche_rad import files

_PACKAGES: Final = ("touche-rad", "torch", "transformers", "peft", "trl")


def versions(*also: str) -> dict[str, str]:
    """Return the versions of what trains."""
    found = {}
    for name in (*_PACKAGES, *also):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write_card(path: Path, *, template: str = __package__, **told: Any) -> None:
    """Write the card, by the `card.md.jinja` of a package."""
    source = resources(template).joinpath("card.md.jinja").read_text("utf-8")
    page = _JINJA.from_string(source).render(**{"left_out": {}, **_plain(told)})
    with files.atomic_write(path) as stream:
        stream.write(page.strip() + "\n")


def _plain(told: Mapping[str, Any]) -> dict[str, Any]:
    """Let no value end a cell of a table or begin a line of its own."""

    def one(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("\n", " ").replace("|", "\\|").replace("`", "'")
        if isinstance(value, Mapping):
            return {str(key): one(inner) for key, inner in value.items()}
        return [one(inner) for inner in value] if isinstance(value, list | tuple) else value

    return {key: told[key] if key == "serve" else one(told[key]) for key in told}


_JINJA: Final = jinja2.Environment(
    undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
)
