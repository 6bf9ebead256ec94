"""Which cited argument each sentence of a response is found in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from touche_rad.text import content_words, sentences, words

How = Literal["quoted", "near", "none"]
NEAR = 0.6
"""The share of a sentence's content words that one argument must have for it to be near."""

_FRAME = re.compile(r"^[^:,]{1,40}[:,]\s+")


@dataclass(frozen=True)
class Supported:
    """A sentence, how it is supported, and by which cited argument (counted from 0)."""

    text: str
    how: How
    argument: int | None = None


def supported(response: str, arguments: Sequence[str]) -> list[Supported]:
    """Find each sentence of a response in what it cites; a quotation goes before a likeness."""
    return [_one(sentence, arguments) for sentence in sentences(response)]


def _one(sentence: str, arguments: Sequence[str]) -> Supported:
    for form in (sentence, _FRAME.sub("", sentence, count=1)):
        for number, text in enumerate(arguments):
            if quoted(form, text):
                return Supported(sentence, "quoted", number)
    shares = [(_share(sentence, text), -number) for number, text in enumerate(arguments)]
    best, number = max(shares, default=(0.0, 0))
    if best >= NEAR:
        return Supported(sentence, "near", -number)
    return Supported(sentence, "none")


def quoted(sentence: str, text: str) -> bool:
    """Whether a sentence's words stand in a text, one after the other."""
    said = " ".join(words(sentence))
    return bool(said) and f" {said} " in f" {' '.join(words(text))} "


def _share(sentence: str, text: str) -> float:
    said = content_words(sentence)
    there = set(content_words(text))
    return sum(word in there for word in said) / len(said) if said else 0.0
