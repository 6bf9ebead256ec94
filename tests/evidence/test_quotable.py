"""Which texts are unclear without the text that they answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touche_rad.evidence.quotable import missing_context


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("They melt the coins.", "They"),
        ("It melts the coins.", "It"),
        ("It is a waste of copper.", "It"),
        ("By melting them, banks save copper.", "By melting them"),
        ("Both of these coins cost too much.", "Both of these"),
        ("Such a coin costs too much.", "Such"),
        ("Alternatively, mints can close.", "Alternatively"),
        ("In the example, coins were lost.", "In the example"),
        ("The post didn't say what coins cost.", "The post"),
        ("If it is less heavy than copper then a coin is cheap.", "If it"),
        ("It will be cheap and save metal, lowering costs.", "It"),
        ("It is no sound currency if these things are copper.", "these"),
        ("Copper is what is at issue here.", "issue here"),
        ("That is why mints close.", "That"),
        ("That in no way helps mints.", "That"),
        ("It is unclear if this is true.", "this"),
        ("Some mints are doing just that.", "doing just that"),
        ("However, mints lose copper.", "However"),
        ("Yes, but mints lose copper.", "Yes"),
        ("And mints lose copper.", "And"),
        ("The mint does just this.", "this"),
        ("The presence of these advantages is irrelevant.", "these"),
        ("Few mints strike such a coin.", "such"),
        ("There is no reason for doing so.", "doing so"),
        ("Coins are heavy. The parent claim forgets banknotes.", "parent claim"),
        ("Coins are heavy. Your other core claims forget this.", "Your other core claims"),
        ("The issue of the grandparent claim is copper.", "grandparent claim"),
        ("Banks disagree with the studies referred to in the parent.", "the parent"),
        ("If the point implied above were valid, mints would close.", "implied above"),
        ("There is also the effect of heavy coins.", "There is also"),
        ("The study shows that coins are heavy.", "The study"),
        ("Coins wear out, as stated above.", "stated above"),
        ("Otherwise mints close.", "Otherwise"),
        ("“They” melt the coins.", "They"),
    ],
)
def test_words_that_refer_to_another_text_are_returned(text: str, words: str) -> None:
    assert missing_context(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Coins cost metal.",
        "It is wrong to melt coins.",
        "It takes years to build a mint.",
        "It's not clear that mints lose money.",
        "These days, coins are rare.",
        "It is wrong if mints melt coins.",
        "If it is wrong to melt coins, mints must close.",
        "Those who melt coins break the law.",
        "Such metals as copper grow dear; coins such as the penny cost more.",
        "If mints melt coins for copper, this wastes heat.",
        "Mints melt coins because these contain copper.",
        "Old coins wear out. These coins are melted.",
        "Coins are old in this world.",
        "So long as mints strike coins, copper is dear.",
        "The claim that coins are cheap is wrong.",
        "Coins strain the bond between the child and the parent.",
        "The study of coins is old.",
        "No mint melts coins.",
        "Bank robbers melt what such banks lose.",
        "",
        "?!",
    ],
)
def test_a_text_that_can_be_read_alone_misses_nothing(text: str) -> None:
    assert missing_context(text) == ""


@given(st.text(max_size=400))
def test_any_text_has_an_answer_that_is_part_of_it(text: str) -> None:
    reference = missing_context(text)
    line = " ".join(text.split())
    assert reference.lower() in f"{line}\n{text}".lower()
