from __future__ import annotations

import pytest

from tests.judges.makers import ZOO, debate, judge, quality
from touche_rad.debate import Maxim

TILL = (
    "It is a myth that animals suffer in every zoo. If a zoo is badly run, its animals suffer; "
    "good zoos give them space, shade and company, unless money runs out."
)


@pytest.mark.parametrize(
    "answer",
    [
        ZOO,
        "Breeding in zoos has saved some species from dying out.",
        "zoos DO NOT only lock animals up",
        "Zoos don’t only lock animals up!",
        "But zoos do not only lock animals up.",
        "I disagree with you: breeding in zoos has saved some species from dying out.",
        "On the contrary, breeding in zoos has saved some species from dying out.",
        "That is not true. Breeding in zoos has saved some species from dying out.",
        "Are you sure? Breeding in zoos has saved some species from dying out.",
        "Zoos do not only lock animals up … from dying out.",
        "You are right. Zoos do not only lock animals up.",
        "“Zoos do not only lock animals up.”",
    ],
)
def test_what_is_quoted_passes(answer):
    found = quality(answer)
    assert found.yes, found.rationale


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("Zoos do not lock animals up.", "opposite"),
        ("Breeding in zoos has not saved some species from dying out.", "not"),
        ("Breeding in zoos has hardly saved some species from dying out.", "saved"),
        ("Breeding in zoos fails to save some species from dying out.", "opposite"),
        (
            "It is not true that breeding in zoos has saved some species from dying out.",
            "true that",
        ),
        ("Breeding in zoos has saved all species from dying out.", "all"),
        ("Breeding in zoos has saved species from dying out.", "some"),
        ("Breeding in zoos has saved 40 species from dying out.", "40"),
        ("Studies show that breeding in zoos has saved some species from dying out.", "studies"),
        ("Breeding in zoos has saved some species from dying out, as Harvard showed.", "harvard"),
        ("Breeding in zoos has saved some parrots from dying out.", "parrots"),
        ("Breeding in zoos has saved some species from dying out. Rome knew this too.", "Rome"),
    ],
)
def test_what_was_changed_fails_and_the_rationale_names_it(answer, word):
    found = quality(answer)
    assert not found.yes
    assert word.lower() in found.rationale.lower()


@pytest.mark.parametrize(
    "answer",
    ["Animals suffer in every zoo.", "Its animals suffer.", "Good zoos give them space."],
)
def test_a_part_whose_frame_turned_it_is_no_quotation(answer):
    assert not quality(answer, TILL).yes


def test_a_clause_that_stands_alone_may_be_quoted_alone():
    assert quality("Offices are cheap.", "Homes are dear; offices are cheap.").yes


def test_an_ellipsis_that_hides_a_negation_is_seen():
    assert not quality("Zoos … lock animals up.", "Zoos do not lock animals up.").yes


def test_the_end_of_a_very_long_sentence_is_read_too():
    long = "zoos save " + ", ".join(f"animal{at} and plant{at}" for at in range(60)) + " and cats"
    assert quality(long, long).yes
    assert not quality(f"{long} fail.", f"{long} win.").yes
    assert not quality(f"{long} not.", f"{long} now.").yes


def test_roles_may_not_be_swapped():
    assert not quality("Mice eat small cats at night.", "Cats eat small mice at night.").yes


def test_free_words_pass_when_one_argument_covers_them():
    text = "Traffic turned away from the centre queues on the ring road and fumes move there."
    assert quality(
        "The fumes move to the ring road, where traffic from the centre queues.", text
    ).yes


def test_a_bridge_of_ones_own_fails():
    text = "Glass jars weigh more than plastic pots."
    found = quality(
        "Glass jars weigh more than plastic pots, ruining small farmers everywhere.", text
    )
    assert not found.yes


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("Old parks need volunteers in early spring.", "quotes 'keepers' as 'volunteers'"),
        ("Parks need keepers, dooming honest farmers.", "a claim that is not in the source"),
        ("Gardens scare volunteers.", "33% of its content words are in the source"),
        ("; ".join(["Cats doze lazily"] * 20), "too much is said"),
    ],
)
def test_words_of_the_source_in_other_places_do_not_pass(answer, why):
    found = quality(answer, "Old parks need keepers in early spring. Gardens need volunteers.")
    assert not found.yes
    assert why in found.rationale


def test_two_sentences_may_rest_on_two_arguments():
    assert quality("Cats sleep a lot. Dogs bark.", "Dogs bark.", "Cats sleep a lot.").yes


def test_two_clauses_may_rest_on_two_arguments():
    assert quality(
        "Cats sleep a lot; dogs bark loudly.", "Dogs bark loudly.", "Cats sleep a lot."
    ).yes


def test_only_the_first_two_arguments_count_unless_all_are_asked_for():
    seen = debate("Dogs bark loudly.", "Cats sleep.", "Fish swim.", "Dogs bark loudly.")
    assert not judge().judge(seen)[Maxim.QUALITY].yes
    assert judge("all").judge(seen)[Maxim.QUALITY].yes


@pytest.mark.parametrize("answer", ["", " \n", "…", "🦒"])
def test_nothing_said_is_a_no(answer):
    assert not quality(answer).yes


def test_a_bare_stance_claims_nothing_and_is_a_no():
    found = quality("I disagree. Why do you think so?")
    assert not found.yes
    assert found.rationale == "the response claims nothing"


def test_a_claim_without_an_argument_is_a_no():
    found = judge().judge(debate("Zoos save species."))[Maxim.QUALITY]
    assert not found.yes
    assert "no argument is cited" in found.rationale


def test_the_users_words_are_no_evidence():
    said = "Animals suffer in cages and nobody learns a thing there."
    assert not judge().judge(debate(said, ZOO))[Maxim.QUALITY].yes


def test_the_weakest_sentence_decides_and_is_quoted_on_one_short_line():
    found = quality(
        f"{ZOO} Giraffes\nwere invented by the Romans in order to please their mothers."
    )
    assert found.rationale.startswith("“Giraffes were invented")
    assert "\n" not in found.rationale
    assert len(found.rationale) < 160


@pytest.mark.parametrize(
    "behind", ["This is wrong.", "That is not true, of course.", "But I doubt that.", "Not at all."]
)
def test_a_quotation_that_is_taken_back_is_not_deduced(behind):
    assert quality(ZOO).yes
    assert not quality(f"{ZOO} {behind}").yes


def test_a_denial_of_the_user_before_a_quotation_costs_nothing():
    assert quality(f"That is not true. {ZOO}").yes
    assert quality(f"{ZOO} Is this wrong?").yes


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("Loud music harms young children.", "Young children harm loud music."),
        ("Dogs are loyal animals.", "Loyal animals are dogs."),
        ("Cheap rents can attract rich companies.", "Rich companies can attract cheap rents."),
    ],
)
def test_a_sentence_with_subject_and_object_exchanged_is_not_deduced(source, said):
    assert quality(source, source).yes
    assert not quality(said, source).yes


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("Loud music harms young children.", "Young children are harmed by loud music."),
        ("If rents are low, towns are lively.", "Towns are lively if rents are low."),
    ],
)
def test_the_same_claim_in_another_order_is_deduced(source, said):
    assert quality(said, source).yes
