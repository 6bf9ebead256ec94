"""What of an argument can be searched."""

from __future__ import annotations

from touche_rad.debate import Argument
from touche_rad.errors import OptionError, nearest

FIELDS = ("text", "attacks", "supports", "topic", "all")
"""`all` is the other four together."""


def known(field: str) -> str:
    """Return the field's name, or name the nearest."""
    if field not in FIELDS:
        raise OptionError(f"there is no field {field!r}{nearest(field, FIELDS)}")
    return field


def content(argument: Argument, field: str) -> str:
    """Return the words of an argument that a field holds."""
    if field == "all":
        return "\n".join(
            (argument.topic, argument.text, argument.attacks, argument.supports)
        ).strip()
    words: str = getattr(argument, field)
    return words
