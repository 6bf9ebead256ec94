"""Texts that are encoded or disguised: base64, spaced letters, letters of other scripts."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final
from urllib.parse import unquote

from touche_rad.text import stopwords, words

_HIDDEN: Final = tuple(
    map(
        re.compile,
        (
            r"[a-z0-9+/_-]{24,}",
            r"(?:\b\w[ ._*|-]{1,2}){6}",
            r"[a-z][0-9@$!+|][a-z]",
            r"%[0-9a-f]{2}%|&#|\\[ux]",
            r"[^\x00-\x7f]",
        ),
    )
)
"""Codes, spaced letters, digits within words, and letters beyond ASCII, in a line in lower case.
One after the other they take half the time of one pattern."""
_FEW = 4
"""Words from which a text without any function word is not plain English."""
_LETTERS = 16
"""Letters from which a text that is read backwards or shifted can be taken for English."""


def lowered(text: str) -> str:
    """Return a text in lower case on one line."""
    return " ".join(text.lower().split())


def readings(text: str) -> list[str]:
    """Return a text in lower case on one line, and what it says if it is encoded or disguised."""
    line = lowered(text)
    if not _may_hide(line):
        return [line]
    return list(dict.fromkeys((line, *map(lowered, _undisguised(text)))))


def hides_english(text: str) -> bool:
    """Whether a text says something in English that a reader cannot see, whatever it says."""
    if not _may_hide(lowered(text)):
        return False
    said = words(text.lower())
    if len(said) >= _FEW and stopwords().isdisjoint(said):
        plain = _plain(text)
        if any(map(_is_english, (codecs.encode(plain, "rot13"), plain[::-1], _atbash(plain)))):
            return True
    return (
        bool(_SPELLED.search(text))
        or len(_SPLIT.findall(text)) >= _MANY
        or len(_TAG.findall(text)) >= _MANY
        or len([one for one in said if _is_mixed(one)]) >= _MANY
        or any(map(_is_english, _decoded(_plain(text))))
    )


@lru_cache(64)
def _may_hide(line: str) -> bool:
    """Whether a line needs a closer look; each sentence is asked about twice."""
    if any(pattern.search(line) for pattern in _HIDDEN):
        return True
    said = words(line)
    return len(said) >= _FEW and stopwords().isdisjoint(said)


def _is_english(text: str) -> bool:
    """Whether at least two different words, and one word in five, are English function words.

    A few letters may spell such words by chance, read backwards or shifted.
    """
    said = [one for one in words(text.lower()) if one.isalpha()]
    if len(said) < _FEW or sum(map(len, said)) < _LETTERS:
        return False
    common = [one for one in said if one in stopwords()]
    return len(set(common)) > 1 and 5 * len(common) >= len(said)


_MANY = 3
_SPELLED = re.compile(r"(?:\b[A-Za-z][ ._*|-]{1,3}){8,}(?=[A-Za-z]\b)")
_SPLIT = re.compile(r"(?<=[A-Za-z])[\u200b-\u200f\u2060-\u2064\ufeff](?=[A-Za-z])")
_TAG = re.compile(r"[\U000e0020-\U000e007e]")
_LATIN = re.compile(r"[a-z]")
_OTHER = re.compile(r"[\u0370-\u03ff\u0400-\u04ff]")
_LIKE_LATIN = str.maketrans("аеорсхуіјѕԁһԛԝкмтвнαεορνικτυχ", "aeopcxyijsdhqwkmtbhaeopviktux")


def _is_mixed(word: str) -> bool:
    """Whether a word has Latin letters and Greek or Cyrillic ones."""
    return bool(_LATIN.search(word) and _OTHER.search(word))


def _plain(text: str) -> str:
    """Return a text without invisible characters; those that stand for letters are read."""
    shown = _TAG.sub(lambda found: chr(ord(found[0]) - 0xE0000), text)
    shown = unicodedata.normalize("NFKC", shown)
    return "".join(one for one in shown if unicodedata.category(one) != "Cf")


_CODE = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,6}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){12,}")
_BINARY = re.compile(r"(?:[01]{8} ?){4,}")
_SPACED = re.compile(r"\b\w(?:[ ._*|-]\w\b){3,}")
_GAP = re.compile(r"[ ._*|-]")
_DIGITS = [
    str.maketrans("013457@$98!+|", letters) for letters in ("oieastasgbitl", "oleastasgbitl")
]
_LETTERS_AND_DIGITS = re.compile(r"[a-z0-9@$!+|]+")
_MOST_CODES = 20
_LONGEST_CODE = 4_000


def _undisguised(text: str) -> Iterator[str]:
    """Yield the readings of a text. Each takes linear time; a code is decoded once."""
    plain = _plain(text)
    line = lowered(plain)
    yield line
    yield _SPACED.sub(lambda found: _GAP.sub("", found[0]), plain.replace("  ", "\n"))
    yield line.translate(_LIKE_LATIN)
    yield from (_with_letters(line, table) for table in _DIGITS)
    yield codecs.encode(plain, "rot13")
    yield _atbash(line)
    yield line[::-1]
    yield html.unescape(unquote(_unescape(plain), errors="replace"))
    yield from _decoded(plain)


def _with_letters(line: str, table: dict[int, int]) -> str:
    return _LETTERS_AND_DIGITS.sub(
        lambda found: found[0] if found[0].isdigit() else found[0].translate(table), line
    )


_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_MIRRORED = str.maketrans(_ALPHABET, _ALPHABET[::-1])


def _atbash(text: str) -> str:
    return text.lower().translate(_MIRRORED)


_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)


_RUNS: Final[tuple[tuple[re.Pattern[str], Callable[[str], str]], ...]] = (
    (re.compile(r"(?:%[0-9a-fA-F]{2}){6,}"), partial(unquote, errors="replace")),
    (re.compile(r"(?:&#x?[0-9a-fA-F]{1,6};){6,}"), html.unescape),
    (re.compile(r"(?:\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})){6,}"), _unescape),
)


def _decoded(text: str) -> Iterator[str]:
    """Yield what the codes of a text say."""
    for pattern, decode in _RUNS:
        yield from map(decode, pattern.findall(text)[:_MOST_CODES])
    for pattern, base in ((_HEX, 16), (_BINARY, 2)):
        for code in pattern.findall(text)[:_MOST_CODES]:
            digits = re.sub("[ :]", "", code[:_LONGEST_CODE])
            width = 2 if base == 16 else 8
            every = range(0, len(digits) - width + 1, width)
            yield bytes(int(digits[at : at + width], base) for at in every).decode("latin-1")
    for code in _CODE.findall(text)[:_MOST_CODES]:
        bare = code[:_LONGEST_CODE].rstrip("=")
        sixty_four = bare.replace("-", "+").replace("_", "/")
        for letters, decoded, block in (
            (sixty_four, base64.b64decode, 4),
            (bare, base64.b32decode, 8),
        ):
            try:
                yield decoded(letters + "=" * (-len(letters) % block)).decode("utf-8")
            except (binascii.Error, UnicodeDecodeError, ValueError):
                continue
