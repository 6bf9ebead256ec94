"""What a debater is not shown: equal texts twice, and arguments about another text."""

from __future__ import annotations

import pytest

from tests.debaters.test_earlier_citations import DEBATERS, considered, server
from tests.debaters.world import ARGUMENTS, FOR_PENNY, WORTHLESS, BothSides, argument, debate
from tests.models.by_schema import prompt_of
from tests.models.scripted import Scripted
from touche_rad.debaters.verbatim import Verbatim
from touche_rad.plugins import Options, Services
from touche_rad.text import plain_words

__all__ = ["server"]
ASKED = debate(WORTHLESS)
PARENT = argument(
    8, *FOR_PENNY, "The parent offers no proof that the worthless penny should be abolished."
)
ROUNDED = ARGUMENTS[0].text
TWIN = argument(9, *FOR_PENNY, f"“{ROUNDED.upper().replace(' ', '  ', 1)}”")


@pytest.mark.parametrize("name", DEBATERS)
def test_an_argument_about_another_text_is_only_used_if_there_is_no_other(
    server: Scripted, name: str
) -> None:
    assert PARENT.text not in considered(server, name, ASKED, BothSides([PARENT, *ARGUMENTS[:3]]))
    assert PARENT.text in considered(server, name, ASKED, BothSides([PARENT]))


@pytest.mark.parametrize("name", DEBATERS)
def test_no_prompt_has_equal_arguments_twice(server: Scripted, name: str) -> None:
    considered(server, name, ASKED, BothSides([TWIN, *ARGUMENTS[:3]]))
    shown = [plain_words(prompt_of(body)).count(plain_words(ROUNDED)) for body in server.asked]
    assert max(shown, default=0) == (name != "verbatim")


def test_verbatim_says_why_it_does_not_use_a_candidate() -> None:
    verbatim = Verbatim(Options(), Services(index=BothSides([*ARGUMENTS[:2], PARENT])))
    assert [row.fault for row in verbatim.explain(ASKED)] == [
        "",
        "verbatim takes the first that fits",
        "names another text",
    ]
