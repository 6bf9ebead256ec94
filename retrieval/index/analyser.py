"""One analyser for documents and queries, and the searchable fields of an argument."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

import Stemmer

from touche_rad.debate import Argument
from touche_rad.errors import OptionError, nearest
from touche_rad.text import stopwords

PARTS = ("topic", "text", "attacks", "supports")
ALL = "all"
FIELDS = ("text", "attacks", "supports", "topic", ALL)
"""`all` contains all parts."""


def check_field(field: str) -> None:
    """Reject a name that is no field; the error suggests the nearest one."""
    if field not in FIELDS:
        raise OptionError(f"there is no field {field!r}{nearest(field, FIELDS)}")


def content(argument: Argument, field: str) -> str:
    """Return the text of an argument's field."""
    if field == ALL:
        return "\n".join(argument.text_of(part) for part in PARTS).strip()
    return argument.text_of(field)


NAME = "folded-words/stopwords/snowball-english/2"
"""The name of this analysis; an index built with another one is rejected."""

LONGEST_QUERY = 512
"""Maximum number of words of a query; the rest is ignored."""
CACHED_STEMS = 50_000

# Snowball, not the stemmer of touche_rad.evidence.words: indexes on disk are built with it.
_STEMMER = Stemmer.Stemmer("english", 0)  # without a cache of its own
_stemming = threading.Lock()  # a stemmer has state
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")


def analyse(text: str) -> str:
    """Return the stems of a text's content words, separated by spaces."""
    return " ".join(tokens(text))


def tokens(text: str) -> list[str]:
    """Return the stems of a text's content words, in order."""
    if not text.isascii():
        # Letters without their accents, and plain apostrophes.
        decomposed = unicodedata.normalize("NFKD", text.replace("’", "'").replace("‘", "'"))
        text = "".join(
            character for character in decomposed if not unicodedata.combining(character)
        )
    return list(filter(None, map(_stem, _WORD.findall(text.lower()))))


@lru_cache(CACHED_STEMS)
def _stem(word: str) -> str:
    """Return the stem of a folded word; empty for a stop word."""
    if word in stopwords():
        return ""
    word = _POSSESSIVE.sub("", word).replace("'", "")
    if word.isascii():
        with _stemming:
            return str(_STEMMER.stemWord(word))
    return "x" + word.encode("utf-8", "replace").hex()
