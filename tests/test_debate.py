"""The vocabulary."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.cases import with_cases
from touche_rad.debate import Argument, Debate, Response, Verdict


def _debate() -> Debate:
    debate = Debate(id="d", claim="c")
    for number in range(3):
        debate = debate.with_utterance(f"U{number}").with_response(Response(content=f"S{number}"))
    return debate


def test_nothing_in_a_debate_can_be_changed() -> None:
    debate = _debate()
    with pytest.raises(ValidationError):
        debate.turns[0].utterance = "other"  # type: ignore[misc]
    assert debate.with_utterance("more") != debate
    assert len(debate.turns) == 3


def test_null_lists_are_empty_and_unknown_fields_are_kept() -> None:
    argument = Argument.model_validate({"id": "1", "text": "t", "tags": None, "year": 1999})
    assert argument.tags == ()
    assert argument.model_dump(exclude_unset=True)["year"] == 1999
    assert Response.model_validate({"content": "c", "arguments": None}).arguments == ()


@with_cases(("score", "yes"), "half_is_yes.json")
def test_half_is_yes(score: float | None, yes: bool) -> None:
    assert Verdict(score=score).yes is yes


def test_responses_with_further_fields_can_be_in_a_set() -> None:
    same = {Response(content="S", extra={"trace": [{}]}) for _ in range(2)}
    assert len(same) == 1
    assert len({Verdict(score=1.0), Verdict(score=1.0, extra={"a": []})}) == 2
