"""A quotation may leave out a connective at the beginning of a sentence, but not an attitude."""

from __future__ import annotations

import pytest

from touche_rad.debate import Argument
from touche_rad.evidence.guard import Found, read

QUOTED = "Mints cannot prove that coins are useful."


@pytest.mark.parametrize(
    ("beginning", "found"),
    [
        ("That being said", Found.SAID),
        ("Having said that", Found.SAID),
        ("However", Found.SAID),
        ("Bankers say", Found.DISTORTED),
        ("It is wrong that", Found.DISTORTED),
    ],
)
def test_what_stands_before_a_quotation(beginning: str, found: Found) -> None:
    source = Argument(id="a", text=f"{beginning} {QUOTED[0].lower()}{QUOTED[1:]}")
    assert read(QUOTED, (source,)) is found
