"""A plugin with its options as one word: `NAME` or `NAME(KEY=VALUE,KEY=VALUE)`.

It is how a run's tag names a plugin (`Plugin.identity`), read back.
"""

from __future__ import annotations

import re
from typing import Final

from touche_rad.errors import OptionError

_WHOLE: Final = re.compile(r"^([\w.-]+)(?:\((.*)\))?$", re.DOTALL)
_NEXT: Final = re.compile(r",(?=\s*[A-Za-z_][\w-]*=)")
"""Commas between options; one within a value stays where no KEY= follows it."""


def spelled(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the options.

    Raises:
        OptionError: It is not spelled so.
    """
    match = _WHOLE.match(text.strip())
    if not match:
        raise OptionError(f"{text!r}: expected NAME or NAME(KEY=VALUE,...)")
    name, inner = match.groups()
    options: dict[str, str] = {}
    for part in _apart(inner or ""):
        key, equals, value = part.partition("=")
        if not equals:
            raise OptionError(f"{text!r}: expected KEY=VALUE in the brackets, got {part!r}")
        options[key.strip().replace("-", "_")] = value.strip()
    return name, options


def _apart(inner: str) -> list[str]:
    """Cut at commas that part options, though not within brackets of their own."""
    parts: list[str] = []
    start = 0
    for match in _NEXT.finditer(inner):
        before = inner[start : match.start()]
        if before.count("(") == before.count(")"):
            parts.append(before)
            start = match.end()
    rest = inner[start:].strip()
    return [*parts, rest] if rest else parts
