"""Words and sentences as the task counts and cuts them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import with_cases
from tests.records import read_records
from touche_rad.text import (
    CHUNK,
    clean,
    content_words,
    count_words,
    cut_to_words,
    printable,
    sentences,
    split_sentences,
    words,
)


@with_cases("text_and_parts", "sentences.tsv")
def test_sentences_end_where_a_reader_would_end_them(text_and_parts: list[str]) -> None:
    text, *parts = text_and_parts
    assert sentences(text) == parts


@given(st.text())
def test_sentences_lose_no_word(text: str) -> None:
    assert " ".join(sentences(text)).split() == text.split()


@given(st.text(alphabet=st.characters(codec="utf-8")), st.integers(1, 80))
def test_a_cut_text_fits_and_starts_as_the_whole(text: str, limit: int) -> None:
    cut = cut_to_words(text, limit)
    assert count_words(cut) <= limit
    if count_words(text) <= limit:
        assert cut == text
    else:
        assert cut
        *first, _ = cut.rstrip("…").split() or [""]
        assert text.split()[: len(first)] == first


def test_a_text_is_cut_at_a_sentence_end() -> None:
    assert cut_to_words("One two three. Four five. Six seven.", 5) == "One two three. Four five."
    assert cut_to_words("One two three. Four five. Six seven.", 4) == "One two three."


def test_where_no_sentence_fits_the_first_words_stand() -> None:
    assert cut_to_words("one two, three four five six.", 2) == "one two…"


@given(st.text(alphabet=st.characters()))
def test_clean_text_can_be_sent_and_is_one_line(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert cleaned.splitlines() in ([], [cleaned])
    assert clean(cleaned) == cleaned


def test_clean_keeps_what_people_write() -> None:
    assert clean("  Ünïcode\t😀 \n and\u2028more\x00 ") == "Ünïcode 😀 and more"
    assert clean("lone \ud800 surrogate") == "lone ? surrogate"


def test_words_are_plain_and_lower() -> None:
    plain = words("Don’t — EVER — say “never”, (2nd) time!")
    assert " ".join(plain) == "don't ever say never 2nd time"


def test_content_words_keep_negations_and_drop_function_words() -> None:
    assert content_words("The cars do not help, never did") == ["cars", "not", "help", "never"]


@pytest.mark.parametrize(
    ("text", "shown"), read_records(Path(__file__).with_name("printed_texts.jsonl"))
)
def test_printed_text_cannot_control_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_printed_text_has_only_printable_characters(text: str) -> None:
    shown = printable(text)
    assert all(character in "\n\t" or character.isprintable() for character in shown)
    assert printable(shown) == shown


def test_long_texts_are_split_in_pieces_at_spaces() -> None:
    text = "bees " * CHUNK
    parts = split_sentences(text)
    assert max(map(len, parts)) <= CHUNK
    assert " ".join(parts) == text.strip()
    assert split_sentences("x" * (2 * CHUNK + 1)) == ["x" * CHUNK, "x" * CHUNK, "x"]
