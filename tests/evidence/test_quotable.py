"""Which texts are unclear without the text that they answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records import read_table
from touche_rad.evidence.quotable import missing_context


@pytest.mark.parametrize(
    ("text", "words"),
    read_table("evidence/references.tsv"),
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
