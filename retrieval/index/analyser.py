"""One analyser for documents and queries, and the searchable fields of an argument."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import Stemmer

from touche_rad.debate import Argument
from touche_rad.errors import OptionError, nearest
from touche_rad.text import stopwords

PARTS = ("topic", "text", "attacks", "supports")
ALL = "all"
TOPICS = "topics"
FIELDS = ("text", "attacks", "supports", "topic", ALL, TOPICS)
"""`all` contains all parts. `topics` contains those of all arguments on a topic, and finds the
first of these arguments."""


def check_field(field: str) -> None:
    """Reject a name that is no field; the error suggests the nearest one."""
    if field not in FIELDS:
        raise OptionError(f"there is no field {field!r}{nearest(field, FIELDS)}")


def content(argument: Argument, field: str) -> str:
    """Return the text of an argument's field."""
    if field == ALL:
        return "\n".join(map(argument.text_of, PARTS)).strip()
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


class FieldTexts:
    """The stems of each field of many arguments."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {field: [] for field in FIELDS}
        self._topics: list[str] = []

    def add(self, argument: Argument) -> dict[str, list[str]]:
        """Add an argument and return the stems of its parts."""
        stems = {part: tokens(content(argument, part)) for part in PARTS}
        for part in PARTS:
            self._texts[part].append(" ".join(stems[part]))
        everything = " ".join(chain.from_iterable(stems.values()))
        self._texts[ALL].append(everything)
        self._texts[TOPICS].append(everything if argument.topic else "")
        self._topics.append(argument.topic)
        return stems

    def documents(self, numbers: Sequence[int]) -> dict[str, list[tuple[int, str]]]:
        """Return the numbered texts of each field that has any; a text has at least one word.

        All texts on a topic have the number of the first one.
        """
        first_numbers: dict[str, int] = {}
        of_topics = list(map(first_numbers.setdefault, self._topics, numbers))
        fields: dict[str, list[tuple[int, str]]] = {}
        for field, texts in self._texts.items():
            numbers_of_field = of_topics if field == TOPICS else numbers
            documents = [pair for pair in zip(numbers_of_field, texts, strict=True) if pair[1]]
            if documents:
                fields[field] = documents
        return fields
