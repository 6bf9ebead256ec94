"""The judge's parts, each on plain data."""

from __future__ import annotations

import pytest

from touche_rad.evidence.repetition import (
    Quotation,
    claims_nothing,
    find_quotation,
)
from touche_rad.evidence.words import (
    negated_words,
    read_passage,
    stem,
)

TEXT = "Cages are old. Parks are green, I think, and not cheap. Zoos are wide."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cities", "city"),
        ("stopped", "stop"),
        ("organise", "organization"),
        ("boxes", "box"),
        ("improvement", "improves"),
        ("quickly", "quick"),
        ("studies", "study"),
    ],
)
def test_one_stem(one, other):
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("careless", "care"), ("glass", "gla"), ("bus", "bu")])
def test_two_stems(one, other):
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Cages are old.", Quotation.KEPT),
        ("cages are old parks are green", Quotation.KEPT),
        ("But cages are old", Quotation.KEPT),
        ("Cages are old … zoos are wide", Quotation.KEPT),
        ("Cages are … green", Quotation.KEPT),
        ("Zoos are wide … cages are old", Quotation.NONE),
        ("Parks are … cheap", Quotation.TORN),
        ("Cages are young", Quotation.NONE),
        ("Ages are old", Quotation.NONE),
    ],
)
def test_quotation(text, found):
    assert find_quotation(read_passage(text), read_passage(TEXT)) is found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("I think zoos save animals.", Quotation.KEPT),
        ("Some claim zoos save animals.", Quotation.TORN),
        ("Nobody believes zoos save animals.", Quotation.TORN),
        ("Whether zoos save animals is open.", Quotation.TORN),
        ("If parks close, zoos save animals.", Quotation.TORN),
        ("Parks close, zoos save animals.", Quotation.KEPT),
        ("Zoos save animals unless money runs out.", Quotation.TORN),
        ("Zoos save animals is not what I said.", Quotation.TORN),
        ("Zoos save animals, and parks do not.", Quotation.KEPT),
        ("Some claim zoos save animals. In fact zoos save animals.", Quotation.KEPT),
    ],
)
def test_what_is_left_out_around_a_part(source, found):
    assert find_quotation(read_passage("Zoos save animals"), read_passage(source)) is found


@pytest.mark.parametrize("text", ["I disagree.", "Why is that?", "No, that is not true!", "But"])
def test_claims_nothing(text):
    assert claims_nothing(read_passage(text).tokens, text)


@pytest.mark.parametrize("text", ["Zoos save animals, don't they?", "Why not.", "Animals suffer."])
def test_claims_something(text):
    assert not claims_nothing(read_passage(text).tokens, text)


@pytest.mark.parametrize(
    ("text", "flagged"),
    [
        ("zoos do not save animals", ["save"]),
        ("zoos not only save animals", []),
        ("zoos never, save animals", []),
        ("nobody doubts zoos", []),
        ("rules rather than animals", ["animals"]),
        ("a few animals", []),
        ("few animals", ["animals"]),
        ("no longer save animals", ["save"]),
    ],
)
def test_what_a_negation_reaches(text, flagged):
    tokens = read_passage(text).tokens
    found = [token.word for token, flag in zip(tokens, negated_words(tokens), strict=True) if flag]
    assert [word for word in found if word != "longer"] == flagged
