"""What disguised texts say: base64, rot13, reversed, spaced letters, digits in words."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator

_CODE = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_SPACED = re.compile(r"\b\w(?:[ ._*|-]\w\b){3,}")
_GAP = re.compile(r"[ ._*|-]")
_DIGITS = [str.maketrans("013457@$", letters) for letters in ("oieastas", "oleastas")]
_LETTERS_AND_DIGITS = re.compile(r"[a-z0-9@$]+")
_MOST_CODES = 20
_LONGEST_CODE = 4_000


def undisguised(text: str) -> Iterator[str]:
    """Yield the readings of a text that differ from it, in lower case on one line.

    Each takes linear time; a code is decoded once, not again and again.
    """
    plain = unicodedata.normalize("NFKC", text)
    plain = "".join(one for one in plain if unicodedata.category(one) != "Cf")
    line = _line(plain)
    candidates = [
        line,
        _line(_SPACED.sub(lambda found: _GAP.sub("", found[0]), plain.replace("  ", "\n"))),
        *(_with_letters(line, table) for table in _DIGITS),
        _line(codecs.encode(plain, "rot13")),
        line[::-1],
        *(_line(one) for one in _decoded(plain)),
    ]
    yield from dict.fromkeys(one for one in candidates if one != _line(text))


def _with_letters(line: str, table: dict[int, int]) -> str:
    return _LETTERS_AND_DIGITS.sub(
        lambda found: found[0] if found[0].isdigit() else found[0].translate(table), line
    )


def _line(text: str) -> str:
    return " ".join(text.lower().split())


def _decoded(text: str) -> Iterator[str]:
    for code in _CODE.findall(text)[:_MOST_CODES]:
        letters = code[:_LONGEST_CODE].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            found = base64.b64decode(letters + "=" * (-len(letters) % 4))
            yield found.decode("utf-8")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            continue
