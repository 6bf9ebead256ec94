"""Chance that repeats itself: the same in every process for the same seed, claim and occasion."""

from __future__ import annotations

import hashlib
from random import Random

from touche_rad.debate import Debate


def chance(seed: int, debate: Debate, what: str) -> Random:
    """Return a debate's own chance for one thing that is left to it."""
    occasion = f"{seed}\n{debate.claim}\n{what}".encode("utf-8", "replace")
    return Random(int.from_bytes(hashlib.sha256(occasion).digest()[:8]))
