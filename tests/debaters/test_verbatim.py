"""The official baseline."""

from __future__ import annotations

import pytest

from tests.debaters.world import ARGUMENTS, BothSides, debate
from tests.refusals import expect_error
from touche_rad.debaters.verbatim import Verbatim
from touche_rad.errors import WorkError
from touche_rad.plugins import Options, Services, find

VERBATIM = Verbatim(Options(), Services(index=BothSides()))


def test_the_first_hit_of_the_attacks_field_is_quoted_whole() -> None:
    response = VERBATIM.answer(debate("zoos", "no", "A comfortable replacement: night trains"))
    (cited,) = response.arguments
    assert response.content == ARGUMENTS[4].text
    assert cited.id == "7.5"
    assert cited.model_extra == {"key": 1, "score": 4.0}
    assert cited.model_dump(exclude={"key", "score"}) == ARGUMENTS[4].model_dump()


def test_no_hit_is_an_error_so_that_another_speaks() -> None:
    with pytest.raises(WorkError):
        VERBATIM.answer(debate("zzz"))


def test_it_asks_for_an_index_and_has_no_options() -> None:
    with expect_error("verbatim"):
        Verbatim(Options(), Services())
    assert find("debater", "verbatim").options.model_fields == {}
