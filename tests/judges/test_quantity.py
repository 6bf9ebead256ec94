from __future__ import annotations

import pytest

from tests.judges.makers import USER, ZOO, debate, judge, turn, verdict
from touche_rad.debate import Maxim

JARS = "Glass jars weigh many times more than plastic pots, so lorries burn more fuel."
BAGS = "Paper bags consume timber, energy and plenty of water before they reach the shop."
PACKS = "Plastic pots litter my beach. My grandmother bought everything in glass jars, paper bags."


def quantity(answer: str, *texts: str, user: str = USER):
    return verdict(Maxim.QUANTITY, answer, *texts, user=user)


def test_one_argument_with_its_reason_passes():
    text = "Animals in zoos suffer less than in deserts. Keepers treat wounds, and water is near."
    assert quantity(text, text).yes


@pytest.mark.parametrize(
    "answer",
    [
        "No, that is not true. Animals do not suffer.",
        "I disagree. Zoos should not be closed.",
        "Why should zoos be closed?",
        "",
    ],
)
def test_a_bare_denial_or_question_fails(answer):
    assert not quantity(answer, ZOO).yes


def test_two_attacks_fail_and_one_passes():
    assert quantity(JARS, JARS, BAGS, user=PACKS).yes
    found = quantity(f"{JARS} {BAGS}", JARS, BAGS, user=PACKS)
    assert not found.yes
    assert "another argument" in found.rationale


def test_an_attack_and_a_defence_of_what_was_said_before_pass():
    said = "Empty bottles travel far and seldom return."
    before = (turn("Plastic pots litter my beach.", said),)
    defence = "Bottles of odd shapes seldom return, since breweries share few of them."
    both = debate(f"{JARS} {defence}", JARS, defence, user=PACKS, before=before)
    assert judge().judge(both)[Maxim.QUANTITY].yes


def test_a_list_fails():
    points = "First, zoos save species. Second, cages are large. Third, children learn there."
    assert not quantity(points, ZOO).yes


def test_an_argument_against_somebody_else_fails():
    text = "Tax buys public services, and tourists pay it on every single meal and ticket."
    found = quantity(text, text)
    assert not found.yes
    assert found.rationale.startswith("no argument")
