from __future__ import annotations

import pytest

from tests.judges.makers import USER, ZOO, debate, judge, turn
from touche_rad.debate import Maxim, Turn

SAID = "Breeding in zoos has saved animals from dying out, and cages have become large enclosures."
NEXT = "Animals in large enclosures still suffer, and breeding in zoos never ends in the wild."


def verdicts(answer: str, *texts: str, user: str = NEXT, before: tuple[Turn, ...] = ()):
    return judge().judge(debate(answer, *texts, user=user, before=before))


@pytest.mark.parametrize(
    "answer",
    [
        SAID,
        f"Let me repeat: {SAID}",
        f"Not so: {SAID}",
        f"On the contrary: “{SAID}”",
        "As I said, breeding in zoos has saved animals from dying out.",
    ],
)
def test_what_was_answered_before_is_no_answer_but_still_an_argument(answer):
    found = verdicts(answer, SAID, before=(turn(USER, SAID),))
    assert not found[Maxim.RELATION].yes
    assert "repeats an earlier response" in found[Maxim.RELATION].rationale
    assert found[Maxim.QUANTITY].yes


def test_said_for_the_first_time_it_answers():
    assert verdicts(SAID, SAID, before=(turn(USER, ZOO),))[Maxim.RELATION].yes


@pytest.mark.parametrize(
    "user",
    [
        "Sorry, I was distracted. What did you say about animals in cages and large enclosures?",
        "Could you explain that again: animals are saved by breeding in zoos?",
        "I forgot. What was that?",
        "Can you remind me what it was?",
    ],
)
def test_a_user_who_asks_to_hear_it_again_is_answered(user):
    assert verdicts(SAID, SAID, user=user, before=(turn(USER, SAID),))[Maxim.RELATION].yes


@pytest.mark.parametrize(
    "turned",
    [
        "Breeding in zoos has not saved animals from dying out, and cages have not become large enclosures.",
        "Breeding in zoos has never saved animals from dying out, nor have cages become large enclosures.",
    ],
)
def test_an_argument_turned_into_its_contrary_speaks_for_the_user(turned):
    found = verdicts(turned, SAID, user=USER)
    assert not found[Maxim.RELATION].yes
    assert not found[Maxim.QUANTITY].yes
    assert not found[Maxim.QUALITY].yes


def test_a_turned_number_leaves_the_stance_alone():
    text = "Breeding in zoos has saved 17 kinds of animals, and cages have become enclosures."
    found = verdicts(text.replace("17", "71"), text, user=USER)
    assert not found[Maxim.QUALITY].yes
    assert found[Maxim.RELATION].yes
    assert found[Maxim.QUANTITY].yes


def test_what_two_earlier_answers_said_between_them_is_no_answer():
    first, second = "Breeding in zoos saves species.", "Keepers give lions large enclosures."
    both = f"{second} {first}"
    said = (turn(USER, first), turn(NEXT, second))
    found = verdicts(both, both, before=said)[Maxim.RELATION]
    assert not found.yes
    assert "repeats an earlier response" in found.rationale
    assert verdicts(both, both, before=said[:1])[Maxim.RELATION].yes


def test_an_argument_cited_before_says_nothing_new_in_its_own_words():
    """The earlier answer paraphrased it; now it is quoted."""
    earlier = debate("Some kinds would be gone without keepers.", SAID, user=USER).turns
    assert not verdicts(SAID, SAID, before=earlier)[Maxim.RELATION].yes
