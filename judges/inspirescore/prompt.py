"""The prompt files, each read once."""

from __future__ import annotations

from functools import cache

from touche_rad.models import Prompt


@cache
def prompt(name: str) -> Prompt:
    """Return `NAME.jinja`."""
    return Prompt.load("judges.inspirescore", name)
