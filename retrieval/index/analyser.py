"""One analyser for documents and queries, and the searchable fields of an argument."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

import snowballstemmer

from touche_rad.debate import Argument
from touche_rad.errors import OptionError, nearest
from touche_rad.text import stopwords

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


NAME = "folded-words/stopwords/snowball-english/2"
"""Names the analysis; an index made by another one is not searched."""

LONGEST_QUERY = 512
"""Words of a query that are searched; the rest is not."""
REMEMBERED = 50_000

_STEMMER = snowballstemmer.stemmer("english")
_stemming = threading.Lock()  # a stemmer keeps the word it works on
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")


def analyse(text: str) -> str:
    """Return the stems of a text's words that count, plain and apart."""
    return " ".join(tokens(text))


def tokens(text: str) -> list[str]:
    """Return the stems of the words that count, in order."""
    return list(filter(None, map(_plain, _WORD.findall(_folded(text)))))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'").replace("‘", "'"))
    return "".join(one for one in decomposed if not unicodedata.combining(one)).lower()


@lru_cache(REMEMBERED)
def _plain(word: str) -> str:
    if word in stopwords():
        return ""
    word = _POSSESSIVE.sub("", word).replace("'", "")
    if word.isascii():
        with _stemming:
            return str(_STEMMER.stemWord(word))
    return "x" + word.encode("utf-8", "replace").hex()
