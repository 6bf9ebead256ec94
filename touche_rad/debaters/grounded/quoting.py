"""What can be quoted of an argument, and what may stand before the quotation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from touche_rad.debate import Argument
from touche_rad.debaters.grounded.library import Library, cosine, coverage, negated
from touche_rad.debaters.grounded.reading import Part, Reading
from touche_rad.evidence.standalone import missing_context
from touche_rad.text import clean, count_words, cut_to_words, sentences

_MARKUP = re.compile(
    r"https?:|www\.|\w\.(?:com|org|net|gov|edu)\b|\[\w[^\]]*\]|\bp+\. ?\d", re.IGNORECASE
)
"""Addresses, links and page numbers."""
_FEWEST, _MOST = 10, 45
_ENDED = re.compile(r"[.!?…][\"'”’)\]]*$")

_SHRED = re.compile(
    r"(?<=[.!?\"”])(?>\s*(?:www\.)?[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|gov|edu|uk)"
    r"|\s+[a-z]+(?:-[a-z]+)+)+$"
)
"""The name or address of a link after the last full stop."""
_LONGEST_SHRED: Final = 400

FORM: Final = ("dangling", "markup", "question", "short", "long")
"""Names of the faults of form; each is 0 if the text does not have it."""


@lru_cache(maxsize=32_768)
def _form(text: str) -> tuple[float, ...]:
    quoted = " ".join(whole_sentences(text))
    size = count_words(quoted)
    return (
        float(bool(missing_context(quoted))),
        float(bool(_MARKUP.search(quoted))),
        float("?" in quoted),
        max(0.0, (_FEWEST - size) / _FEWEST),
        max(0.0, (size - _MOST) / 15),
    )


def form(text: str) -> dict[str, float]:
    """Return what makes a text a bad quotation; all values are 0 for a good one."""
    return dict(zip(FORM, _form(text), strict=True))


def clear(quoted: str) -> bool:
    """Whether a quotation can be understood without its context, and is free of links."""
    return not missing_context(quoted) and not _MARKUP.search(quoted)


def whole_sentences(text: str) -> list[str]:
    """Return the sentences of a text without fragments at its end, such as a link."""
    whole = clean(text)
    shred = _SHRED.search(whole, max(0, len(whole) - _LONGEST_SHRED))
    found = sentences(whole[: shred.start()] if shred else whole)
    while len(found) > 1 and not _ENDED.search(found[-1]):
        found.pop()
    return found


def quotation(text: str, most: int, whole: int) -> str:
    """Return the quotation of a text: all of it, or whole sentences that stand alone.

    Args:
        text: The argument's text.
        most: Maximum words of the quotation.
        whole: Texts of at most this many words are quoted whole.
    """
    found = whole_sentences(text)
    joined = " ".join(found)
    if count_words(joined) <= min(whole, most):
        return joined
    runs = [
        " ".join(found[start:end])
        for start in range(len(found))
        for end in range(start + 1, min(start + 2, len(found)) + 1)
        if count_words(" ".join(found[start:end])) <= most
        and (start == 0 or not missing_context(found[start]))
    ]
    if not runs:
        return cut_to_words(clean(text), most)
    return max(runs, key=lambda run: (clear(run), _worth(run)))


def _worth(run: str) -> int:
    """Prefer quotations of about `_MOST` words."""
    size = count_words(run)
    return min(size, _MOST) - max(0, size - _MOST)


Frame = Literal["disagree", "contrary", "differently", "unconvinced", "not so", "none"]
FRAMES: Final[dict[Frame, str]] = {
    "disagree": "I disagree:",
    "contrary": "On the contrary:",
    "differently": "I see it differently:",
    "unconvinced": "I am not convinced:",
    "not so": "Not so:",
    "none": "",
}
"""What can stand before the quotation: a stance without a claim, or nothing."""
STANCES: Final = tuple(words for words in FRAMES.values() if words)

_SAME = 0.6
"""Cosine of the attacked claim and the user's words from which they say the same."""
_COVERED, _ALIKE = 0.65, 0.35
"""Share of the attacked claim's terms, and cosine, from which longer words contain the claim."""
_MAIN = 0.5
"""Minimum weight of a part of the message; a concession has less."""


def opposes(argument: Argument, reading: Reading, library: Library) -> bool:
    """Whether the user asserts the claim that the argument attacks.

    Both must have nearly the same words and the same negation. Words shared with the user are not
    enough: most arguments on the user's side share them too.
    """
    claim = library.profile(argument).attacks
    denies = negated(argument.attacks)

    def asserts(part: Part) -> bool:
        if part.denied or part.weight < _MAIN or negated(part.text) != denies:
            return False
        said = library.lexis.vector(part.text)
        alike = cosine(claim, said)
        return alike >= _SAME or (alike >= _ALIKE and coverage(claim, said) >= _COVERED)

    return any(map(asserts, reading.parts))


@dataclass(frozen=True)
class Quotable:
    """An argument and its quotation."""

    argument: Argument
    quoted: str
    path: tuple[str, ...] = ()
    """How the argument was reached."""
    opposed: bool = False
    """Whether it is known that the argument opposes the user."""
