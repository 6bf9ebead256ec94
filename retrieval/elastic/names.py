"""Names and ids that a server takes, so that any other is told in a line of ours."""

from __future__ import annotations

from typing import Final

from touche_rad.errors import UserError

LONGEST_NAME: Final = 200
"""Bytes; the server takes 255, and the names that we make are longer by a content's digest."""
LONGEST_ID: Final = 512
_FORBIDDEN: Final = frozenset('\\/*?"<>|,#: ')


def check_name(name: str) -> None:
    """Refuse what no single index can be called: patterns, lists and what the server forbids."""
    if (
        not name.isprintable()
        or not _FORBIDDEN.isdisjoint(name)
        or name != name.lower()
        or name[0] in "-_+"
        or name in (".", "..")
    ):
        raise _refused(name)


def check_new_name(name: str) -> None:
    """Refuse also what we would not make: hidden indexes, and names too long for a digest more."""
    if name[0] == "." or len(name.encode()) > LONGEST_NAME:
        raise _refused(name)


def _refused(name: str) -> UserError:
    shown = repr(name if len(name) <= 40 else name[:40] + "…")
    return UserError(
        f"{shown} is no name for an index on Elasticsearch: expected lower-case letters, digits, "
        f"'-' and '_', a letter or digit first, at most {LONGEST_NAME} bytes"
    )


def may_be_id(name: str) -> bool:
    """Whether a document can have this id."""
    return 0 < len(name.encode()) <= LONGEST_ID


def check_id(name: str) -> None:
    """Refuse an id that no document can have."""
    size = len(name.encode())
    if not name:
        raise UserError(
            f"an argument has no id: Elasticsearch takes ids of 1 to {LONGEST_ID} bytes"
        )
    if size > LONGEST_ID:
        raise UserError(
            f"the id {name[:40] + '…'!r} has {size} bytes: Elasticsearch takes 1 to {LONGEST_ID}"
        )
