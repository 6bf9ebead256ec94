"""The task's bars on real turns, and the demo's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.demo import DEBATES
from touche_rad import files
from touche_rad.debate import NOTHING_FOUND, Debate, Response, path_of, with_path
from touche_rad.debaters.grounded import Grounded
from touche_rad.debaters.grounded.debater import STANCES
from touche_rad.evidence.support import Earlier
from touche_rad.plugins import ArgumentIndex, Services, build_index, open_index
from touche_rad.text import count_words


def assert_valid_quotation(index: ArgumentIndex, debates: Iterable[Debate]) -> tuple[int, int]:
    """Check each answer, and count the quotations and the turns without one."""
    grounded = Grounded(Grounded.Options(), Services(index=index))
    answered = nothing = 0
    for debate in debates:
        for turn in range(len(debate.turns)):
            response = grounded.answer(debate.before_response(turn))
            if response == Response(content=NOTHING_FOUND):
                nothing += 1
                continue
            (cited,) = response.arguments
            quoted = response.content
            for stance in STANCES:
                quoted = quoted.removeprefix(f"{stance} ")
            assert 1 <= count_words(response.content) <= 60
            stored = index.get(cited.id)
            assert stored is not None
            assert with_path(stored, path_of(cited)) == cited
            assert quoted in " ".join(cited.text.split())
            assert not Earlier(texts_before(debate, turn)).has(quoted)
            answered += 1
    return answered, nothing


def texts_before(debate: Debate, turn: int) -> list[str]:
    responses = [answered.response.content for answered in debate.turns[:turn] if answered.response]
    return [earlier.utterance for earlier in debate.turns[: turn + 1]] + responses


@pytest.mark.long
def test_every_demo_turn_is_answered_with_a_quotation(demo_index_path: Path) -> None:
    debates = list(files.read_debates(DEBATES))
    answered, nothing = assert_valid_quotation(open_index(str(demo_index_path)), debates)
    assert answered >= 50
    assert nothing <= 3


def test_demo_claims_are_attacked_on_their_topic(demo_index_path: Path) -> None:
    index = open_index(str(demo_index_path))
    grounded = Grounded(Grounded.Options(), Services(index=index))
    claims = list(index.arguments())[::12]
    right = 0
    for argument in claims:
        response = grounded.answer(Debate().with_utterance(f"I believe that {argument.attacks}"))
        right += argument.topic in [cited.topic for cited in response.arguments]
    assert right >= 0.95 * len(claims)


@pytest.mark.long
def test_every_real_turn_is_answered_with_a_quotation(real_data: Path) -> None:
    place = "index"
    build_index(files.read_arguments(real_data / "claimrev-4441.jsonl.gz"), place)
    debates = files.read_debates(real_data / "cmv-debates-100.jsonl.gz")
    answered, nothing = assert_valid_quotation(open_index(place), debates)
    assert answered + nothing == 500
    assert nothing <= 50
