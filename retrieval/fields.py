"""What of an argument can be searched."""

from __future__ import annotations

from touche_rad.debate import Argument
from touche_rad.errors import OptionError, nearest

PARTS = ("topic", "text", "attacks", "supports")
ALL = "all"
FIELDS = ("text", "attacks", "supports", "topic", ALL)
"""`all` is the parts together."""


def known(field: str) -> str:
    """Return the field's name, or name the nearest."""
    if field not in FIELDS:
        raise OptionError(f"there is no field {field!r}{nearest(field, FIELDS)}")
    return field


def content(argument: Argument, field: str) -> str:
    """Return the words of an argument that a field holds."""
    if field == ALL:
        return "\n".join(getattr(argument, part) for part in PARTS).strip()
    words: str = getattr(argument, field)
    return words
