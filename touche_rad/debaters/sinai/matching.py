"""What the model calls an argument's text, and which argument that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final

from touche_rad.debate import Argument
from touche_rad.text import clean, content_words

ALIKE: Final = 0.8
"""From how alike on two texts are taken for the same; nothing is matched below it."""


def matched(texts: Iterable[str], arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that texts are, in the texts' order, each once.

    Exactly, then without regard to case and marks, then the nearest above a bound; a text that is
    none of them is dropped.
    """
    found: dict[str, Argument] = {}
    for text in texts:
        one = _matched(text, arguments)
        if one is not None:
            found.setdefault(one.id, one)
    return list(found.values())


def _matched(text: str, arguments: Sequence[Argument]) -> Argument | None:
    if not text.strip():
        return None
    for argument in arguments:
        if text == argument.text:
            return argument
    plain = _plain(text)
    for argument in arguments:
        if plain and plain == _plain(argument.text):
            return argument
    nearest = max(arguments, key=lambda one: _likeness(plain, one), default=None)
    return nearest if nearest is not None and _likeness(plain, nearest) >= ALIKE else None


def _likeness(plain: str, argument: Argument) -> float:
    other = _plain(argument.text)
    if plain and len(plain) >= 20 and plain in other:
        return 1.0
    return SequenceMatcher(None, plain[:1000], other[:1000], autojunk=False).ratio()


def _plain(text: str) -> str:
    return "".join(
        letter
        for letter in " ".join(clean(text).lower().split())
        if letter.isalnum() or letter == " "
    )


def used(content: str, arguments: Sequence[Argument]) -> list[Argument]:
    """Order arguments by how much of a text is theirs; those that share no word with it go."""
    words = set(content_words(content))
    shares = {
        argument.id: len(words & set(content_words(argument.text))) / (len(words) or 1)
        for argument in arguments
    }
    telling = [argument for argument in arguments if shares[argument.id] > 0]
    return sorted(telling, key=lambda argument: -shares[argument.id])
