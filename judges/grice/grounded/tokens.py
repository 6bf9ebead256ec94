"""Words as the judge compares them: plain, stemmed, and with the break in front of each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from touche_rad.text import sentences, stopwords

CHUNK = 4_000
"""Longer text is split into sentences piece by piece, so that work grows with its length."""
REMEMBERED = 1_000
"""The longest text, in characters, that is remembered once read."""
LONGEST_WORD = 60

_PIECE = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)*)|(?P<word>[^\W\d_]+(?:['’ʼ][^\W\d_]+)*|[^\W_]+)"
    r"|(?P<gap>\.{2,}|…)|(?P<end>[.!?])|(?P<strong>[;:—–]|\s-+\s|--+)|(?P<weak>[,()\[\]])|(?P<percent>%)"
)
_SPELT_OUT = {"can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not"}
_ENDINGS = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}
_IS_BEHIND = frozenset("it that there he she what who here where".split())
_RANK = {"": 0, ",": 1, ";": 2, ".": 3, "…": 4}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, its stem, and what stood in front of it: nothing, `,`, `;`, `.` or `…`."""

    word: str
    stem: str
    before: str
    matters: bool
    """Whether the word carries matter."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text's tokens, and its words joined for searching."""

    tokens: tuple[Token, ...]
    joined: str
    after: str = ""
    """The mark behind the last word."""


def passage(text: str) -> Passage:
    """Read a text; short ones are remembered, as a debate's turns are judged one after another."""
    return _remembered(text) if len(text) <= REMEMBERED else _read(text)


@lru_cache(maxsize=2_048)
def _remembered(text: str) -> Passage:
    return _read(text)


def _read(text: str) -> Passage:
    found: list[Token] = []
    before, empty = "", stopwords()
    for match in _PIECE.finditer(unicodedata.normalize("NFKC", text).lower()):
        mark = _mark(match.lastgroup or "")
        if mark:
            before = max(before, mark, key=_RANK.__getitem__)
            continue
        for word, stemmed in _spelt(match):
            found.append(Token(word, stemmed, before, word not in empty))
            before = ""
    return Passage(tuple(found), joined(token.word for token in found), before)


def joined(words: Iterator[str] | Sequence[str]) -> str:
    """Words with a space around each, so that a search finds whole words only."""
    return f" {' '.join(words)} "


def split(text: str) -> list[str]:
    """A text's sentences."""
    found: list[str] = []
    while len(text) > CHUNK:
        cut = text.rfind(" ", CHUNK // 2, CHUNK)
        cut = CHUNK if cut < 0 else cut
        found += sentences(text[:cut])
        text = text[cut:]
    return found + sentences(text)


def _mark(group: str) -> str:
    return {"gap": "…", "end": ".", "strong": ";", "weak": ","}.get(group, "")


def _spelt(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    """The words behind one written word, each with its stem. What is too long to be one stays."""
    if len(match.group()) > LONGEST_WORD:
        yield match.group(), match.group()
        return
    for word in _meant(match.group(), match.lastgroup):
        yield word, stem(word)


@lru_cache(maxsize=65_536)
def _meant(written: str, group: str | None) -> tuple[str, ...]:
    """The words behind one written word: contractions are spelt out."""
    word = re.sub("[’ʼ]", "'", written)
    if group == "percent":
        return ("percent",)
    if group == "number":
        return (word.replace(",", ""),)
    if word in _SPELT_OUT:
        return tuple(_SPELT_OUT[word].split())
    for ending, meant in _ENDINGS.items():
        if word.endswith(ending) and len(word) > len(ending):
            return word.removesuffix(ending), meant
    if word.endswith("'s") and word[:-2] in _IS_BEHIND:
        return word[:-2], "is"
    return (word.removesuffix("'s").replace("'", "") or word,)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without its common English endings. Endings that turn the sense (-less) stay."""
    if len(word) <= 3 or not word.isascii():
        return word
    word = _singular(word)
    for ending, rest in _SUFFIXES:
        if word.endswith(ending) and len(word) - len(ending) >= rest:
            word = _undoubled(word.removesuffix(ending))
            break
    word = word.removesuffix("e") if len(word) > 3 else word
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


_SUFFIXES = [
    ("isations", 4), ("izations", 4), ("isation", 4), ("ization", 4), ("ations", 4), ("ation", 4),
    ("ements", 4), ("ement", 4), ("ments", 4), ("ment", 4), ("ingly", 4), ("edly", 4), ("ively", 4),
    ("ness", 4), ("ities", 4), ("ity", 4), ("ising", 4), ("izing", 4), ("ised", 4), ("ized", 4),
    ("ise", 4), ("ize", 4), ("ions", 4), ("ion", 4), ("ives", 4), ("ive", 4), ("ance", 4),
    ("ence", 4), ("ant", 4), ("ent", 4), ("able", 4), ("ible", 4), ("ally", 4), ("al", 5),
    ("ing", 3), ("ed", 3), ("ly", 4), ("er", 4), ("or", 5),
]  # fmt: skip


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _undoubled(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word
