"""How much the words of a sentence make it an injected order, by learned weights.

benchmarks/tools/train_orders.py writes the weights: of English, and of other languages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from touche_rad.text import stopwords, words

SURE = 75
"""Score from which a sentence is an order. Scores are whole numbers, so that the order of a sum,
which differs between processes, changes nothing."""
LIKELY = -50
"""Score from which it is one if other marks say so too."""
_WORD: Final = re.compile(r"[a-z']*[a-z][a-z']*|[^\W\d_]+")
_SHORT: Final = 4
"""Letters of the beginning of a word, which stands for its forms."""
_CONTROL: Final = re.compile("[\0-\x1f\x7f-\x9f]")
_CONTROL_SHARE: Final = 0.03
"""Share of control characters that a text has at most."""
_BEGINNINGS: Final = (3, 5)
"""Letters of such beginnings in other languages."""
_ENGLISH: Final = 0.15
"""Share of English function words that an English sentence has at least."""
_FOREIGN: Final = 0.1
"""Share of words of other languages that a sentence in one of them has at least."""
_WORDS: Final = 3
"""Words or parts of words that speak for an order; punctuation alone gives none."""
_SIGNS: Final = "\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0900-\u0dff\u0e31-\u0e4e"
"""Vowels and accents of Indic, Semitic and Thai script, which are no letters by Unicode."""
_TOKEN: Final = re.compile(rf"((?:[^\W\d_]|[{_SIGNS}])(?:[^\W\d_]|[{_SIGNS}'])*)|\d+|[^\w\s]")
"""A word, a number or a punctuation mark."""
_SAME: Final = str.maketrans(
    "«»„“”‚‘’「」『』《》‹›<{【〔>】}〕—–−。؟،、！？，：；（）।",
    '""""""""""""""""[[[[]]]]---.?,,!?,:;().',
)
"""Punctuation marks of other scripts, as one of ASCII."""
_WITHOUT_SPACES: Final = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
"""Letters of Thai, Japanese and Chinese."""


def features(text: str) -> frozenset[str]:
    """Return the words of a text, the beginnings of long words, and pairs of neighbours."""
    return _features(_WORD.findall(text.lower()))


def features_of_any_language(text: str) -> frozenset[str]:
    """Return beginnings of words in any script, pairs of them, numbers and punctuation marks.

    Beginnings stand for the many forms of a word. Without spaces, one to three letters are a word.
    """
    found: set[str] = set()
    before = ""
    first = True
    for match in _TOKEN.finditer(text.lower()):
        word = match[1]
        if not word:
            found.add("=0" if match[0][0].isdecimal() else f"={match[0].translate(_SAME)}")
            continue
        start = word[:_SHORT]
        if first:
            found.add(f"^{start}")
            first = False
        if _WITHOUT_SPACES.search(word):
            found.update(
                word[at : at + size] for size in (1, 2, 3) for at in range(len(word) - size + 1)
            )
            before = ""
            continue
        found.add(word)
        found.update(f"{word[:size]}*" for size in _BEGINNINGS if len(word) > size)
        if before:
            found.add(f"{before} {start}")
        before = start
    return frozenset(found)


def score(text: str, any_language: bool = True) -> tuple[int, tuple[str, ...]]:
    """Return the score of a sentence, and the features that speak for an order, the best first.

    Args:
        text: One reading of a sentence.
        any_language: Whether it may be in another language than English.
    """
    found = _score(features(text), english())
    if not any_language or not in_another_language(text):
        return found
    other = _score(features_of_any_language(text), other_languages())
    words_of_orders = sum(not one.startswith("=") for one in other[1])
    return max(found, other) if words_of_orders >= _WORDS else found


def in_another_language(text: str) -> bool:
    """Whether a sentence has few English function words, and words of another language.

    A heading or a piece of code has few English function words too. Decoded bytes that are no text
    have control characters.
    """
    said = words(text.lower())
    known = stopwords()
    if len([one for one in said if one in known]) >= _ENGLISH * len(said):
        return False
    if _CONTROL_SHARE * len(text) < len(_CONTROL.findall(text)):
        return False
    foreign = sum(not one.isascii() or one in foreign_words() for one in said)
    return foreign >= _FOREIGN * len(said)


def _features(said: Sequence[str]) -> frozenset[str]:
    starts = [f"{word[:_SHORT]}*" for word in said if len(word) > _SHORT]
    return frozenset((*said, *starts, *map(" ".join, pairwise(said))))


def _score(found: frozenset[str], weights: dict[str, int]) -> tuple[int, tuple[str, ...]]:
    known = {one: weights[one] for one in found & weights.keys()}
    best = sorted((one for one in known if known[one] > 0), key=lambda one: (-known[one], one))
    return weights[""] + sum(known.values()), tuple(best)


@cache
def foreign_words() -> frozenset[str]:
    """Return frequent words of other languages, in ASCII, that English texts do not have."""
    text = files(__package__).joinpath("foreign_words.txt").read_text("utf-8")
    return frozenset(text.split())


@cache
def english() -> dict[str, int]:
    """Return the weights of features of English."""
    return _read("orders.tsv")


@cache
def other_languages() -> dict[str, int]:
    """Return the weights of features of other languages."""
    return _read("orders_languages.tsv")


def _read(name: str) -> dict[str, int]:
    """Read weights in hundredths; the empty feature has the bias."""
    text = files(__package__).joinpath(name).read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {feature: int(weight) for feature, weight in rows}
