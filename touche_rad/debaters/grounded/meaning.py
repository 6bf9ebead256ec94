"""Features of meaning: how like the user's words an argument is when other words say the same.

Only an index that has vectors knows these. Each is a cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from touche_rad.debaters.grounded.candidates import Candidate
from touche_rad.debaters.grounded.reading import Reading
from touche_rad.plugins import ArgumentIndex, Meaning, MeaningIndex

MEANT: Final = (
    "said_text", "said_attacks", "said_supports", "part_attacks", "part_supports",
    "claim_text", "claim_attacks", "claim_supports", "answered_text",
)  # fmt: skip
"""What was said (the message, a part of it, the debate's claim, our last answer), and of an
argument its text or the claim that it attacks or supports."""
_FIELDS: Final = ("text", "attacks", "supports")
_SHARE: Final = 4
"""One of so many candidates of a route may be found by meaning."""


def meaning_of(index: ArgumentIndex) -> Meaning | None:
    """Return what the index knows of meaning, if it does."""
    return index.meaning if isinstance(index, MeaningIndex) else None


def near(meaning: Meaning, reading: Reading, k: int) -> dict[str, float]:
    """Return the ids of the arguments nearest in meaning to what is said, the nearest with 1."""
    most = max(1, k // _SHARE)
    found: dict[str, float] = {}
    for field in _FIELDS:
        for ids in meaning.nearest(field, [reading.message, reading.claim], most):
            for rank, one in enumerate(ids):
                found[one] = max(found.get(one, 0.0), 1 - rank / most)
    return found


def meant(
    meaning: Meaning, reading: Reading, candidates: Sequence[Candidate]
) -> list[dict[str, float]]:
    """Return the features of each candidate, in order."""
    ids = [candidate.argument.id for candidate in candidates]
    parts = [part.text for part in reading.parts] or [reading.message]
    said = [reading.message, reading.claim, reading.answered or reading.message, *parts]
    likeness = {field: meaning.likeness(field, said, ids) for field in _FIELDS}
    found = []
    for place in range(len(ids)):
        here = {field: [row[place] for row in likeness[field]] for field in _FIELDS}
        found.append(
            {
                "said_text": here["text"][0],
                "said_attacks": here["attacks"][0],
                "said_supports": here["supports"][0],
                "part_attacks": max(here["attacks"][3:]),
                "part_supports": max(here["supports"][3:]),
                "claim_text": here["text"][1],
                "claim_attacks": here["attacks"][1],
                "claim_supports": here["supports"][1],
                "answered_text": here["text"][2] if reading.answered else 0.0,
            }
        )
    return found
