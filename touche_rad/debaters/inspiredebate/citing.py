"""Which evidence an argument stands on: the model names none, so its words have to show it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from touche_rad.debate import Argument
from touche_rad.debaters.inspiredebate.evidence import Evidence
from touche_rad.text import clean, content_words, sentences

_FEWEST: Final = 4
"""So many words in a row, taken over, are no chance."""


def cited(
    content: str, evidence: Sequence[Evidence], *, most: int, alike: float
) -> tuple[Argument, ...]:
    """Return the arguments that a text uses, the first used first.

    A sentence stands on what it quotes, exactly or without regard to case and marks; else on what
    is nearest to it, where that is near enough. What matches nothing is not cited.
    """
    arguments = [one.argument for one in evidence if one.argument is not None]
    found: dict[str, Argument] = {}
    for sentence in sentences(clean(content)):
        for argument in _quoted(sentence, arguments) or _nearest(sentence, arguments, alike):
            found.setdefault(argument.id, argument)
    return tuple(found.values())[:most]


def _quoted(sentence: str, arguments: Sequence[Argument]) -> list[Argument]:
    """Return what a sentence quotes, in the order in which it does."""
    for form in (_exact, _plain):
        places = [(_place(form(sentence), form(one.text)), one) for one in arguments]
        quoted = [(place, one) for place, one in places if place is not None]
        if quoted:
            return [one for _, one in sorted(quoted, key=lambda pair: pair[0])]
    return []


def _place(said: str, text: str) -> int | None:
    """Return where in what is said a text is quoted: the text whole, or a sentence of it."""
    if len(said.split()) >= _FEWEST and said in text:
        return 0
    parts = [part.rstrip(".!? ") for part in (text, *sentences(text))]
    places = [said.find(part) for part in parts if len(part.split()) >= _FEWEST]
    return min((place for place in places if place >= 0), default=None)


def _nearest(sentence: str, arguments: Sequence[Argument], alike: float) -> list[Argument]:
    nearest = max(arguments, key=lambda one: likeness(sentence, one.text), default=None)
    if nearest is None or likeness(sentence, nearest.text) < alike:
        return []
    return [nearest]


def likeness(sentence: str, text: str) -> float:
    """Return how near a sentence is to a text, 0 to 1.

    The larger of two: the share of its words of matter that the text has, and the likeness of the
    letters of both. Too few words tell nothing.
    """
    said = content_words(sentence)
    if len(said) < 2:
        return 0.0
    held = set(content_words(text))
    share = sum(word in held for word in said) / len(said)
    plain, other = _plain(sentence)[:1_000], _plain(text)[:1_000]
    return max(share, SequenceMatcher(None, plain, other, autojunk=False).ratio())


def _exact(text: str) -> str:
    return clean(text).rstrip(".!? ")


def _plain(text: str) -> str:
    kept = (letter if letter.isalnum() else " " for letter in clean(text).lower())
    return " ".join("".join(kept).split())
