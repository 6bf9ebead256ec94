"""How a rationale quotes: one line, and short."""

from __future__ import annotations

from touche_rad.text import clean

QUOTE = 70
"""The most characters of a sentence that a rationale quotes."""


def short(text: str) -> str:
    """A text in quotation marks on one line, its middle left out where it is long."""
    line = clean(text[: 20 * QUOTE])
    if len(line) > QUOTE:
        half = QUOTE // 2
        line = f"{line[:half].rstrip()} … {line[-half:].lstrip()}"
    return f"“{line}”"
