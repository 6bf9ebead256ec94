"""Which texts are unclear without the text that they answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import with_cases
from touche_rad.evidence.quotable import missing_context


@with_cases(("text", "words"), "evidence/references.tsv")
def test_words_that_refer_to_another_text_are_returned(text: str, words: str) -> None:
    assert missing_context(text) == words


@with_cases("text", "evidence/texts_that_stand_alone.json")
def test_a_text_that_can_be_read_alone_misses_nothing(text: str) -> None:
    assert missing_context(text) == ""


@given(st.text(max_size=400))
def test_any_text_has_an_answer_that_is_part_of_it(text: str) -> None:
    reference = missing_context(text)
    line = " ".join(text.split())
    assert reference.lower() in f"{line}\n{text}".lower()
