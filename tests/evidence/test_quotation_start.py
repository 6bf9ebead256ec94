"""A quotation may leave out a connective at the beginning of a sentence, but not an attitude."""

from __future__ import annotations

import pytest

from touche_rad.debate import Argument
from touche_rad.evidence.guard import WordCheck, read

QUOTED = "Mints cannot prove that coins are useful."


@pytest.mark.parametrize(
    ("beginning", "check"),
    [
        ("That being said", WordCheck.SUPPORTED),
        ("Having said that", WordCheck.SUPPORTED),
        ("However", WordCheck.SUPPORTED),
        ("Bankers say", WordCheck.DISTORTED),
        ("It is wrong that", WordCheck.DISTORTED),
    ],
)
def test_what_stands_before_a_quotation(beginning: str, check: WordCheck) -> None:
    source = Argument(id="a", text=f"{beginning} {QUOTED[0].lower()}{QUOTED[1:]}")
    assert read(QUOTED, (source,)) is check
