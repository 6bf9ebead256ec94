from __future__ import annotations

import pytest

from tests.judges.makers import USER, ZOO, verdict
from touche_rad.debate import Maxim


def manner(answer: str):
    return verdict(Maxim.MANNER, answer, ZOO)


@pytest.mark.parametrize("answer", [ZOO, "Keepers hide food, so that animals search and explore."])
def test_what_is_clear_and_short_passes(answer):
    assert manner(answer).yes


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            "It should be noted at this point that, generally speaking, of course, keepers hide "
            "food, at the end of the day.",
            "filler",
        ),
        (" ".join(["Keepers hide food and animals find it again."] * 9), "repeats"),
        (
            "The institutionalisation of conservation, the prioritisation of commodification over "
            "authenticity, the bureaucratisation of responsibility and the marginalisation of "
            "sensitivity undermine the foundations of animal protection and human civilisation.",
            "noun",
        ),
        ("It depends on things, somehow, and one might say something.", "vague"),
        ("Keepers hide food. Keepers hide food. So keepers hide food.", "repeats"),
        (USER, "restates"),
        ("Yes.", "short"),
    ],
)
def test_what_is_padded_dense_vague_or_repeated_fails(answer, told):
    found = manner(answer)
    assert not found.yes
    assert told in found.rationale


def test_padding_costs_by_degree():
    scores = [
        manner(answer).score
        for answer in (
            "Keepers hide food in trees.",
            "Of course, keepers hide food in trees.",
            "Of course, as a matter of fact, keepers hide food in trees.",
        )
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3


@pytest.mark.parametrize(
    "answer",
    [
        "species some Breeding from lock zoos do dying animals. has Zoos out. not in saved up only",
        "The of animals is the will a and zoo of can. To and the is or of wild the.",
    ],
)
def test_words_in_no_order_are_not_clear(answer):
    assert not manner(answer).yes
    assert "no sensible order" in manner(answer).rationale
