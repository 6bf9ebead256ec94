"""What stands before a quotation, and when it is known that the argument opposes the user."""

from __future__ import annotations

from typing import Final, Literal

from touche_rad.debate import Argument
from touche_rad.debaters.grounded.library import Library, cosine, coverage, negated
from touche_rad.debaters.grounded.reading import Part, Reading

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
