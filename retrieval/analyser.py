"""One analyser for documents and queries: what the index sees of a text.

PISA's own tokenizer loses words at odd quotes and letters beyond ASCII, and fails on lone
surrogates, so it is given nothing but plain words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from touche_rad.text import stopwords

NAME = "folded-words/stopwords/porter2/1"
"""Names the analysis; an index made by another one is not searched."""

STEMMER = "porter2"
LONGEST_QUERY = 512
REMEMBERED = 50_000

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")


def analyse(text: str) -> str:
    """Return the words of a text that count, plain and apart; the engine stems them."""
    return " ".join(tokens(text))


def tokens(text: str) -> list[str]:
    """Return the words that count, in order."""
    found = (_plain(word) for word in _WORD.findall(_folded(text)))
    return [word for word in found if word]


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
        return word
    return "x" + word.encode("utf-8", "replace").hex()
