"""Words and sentences as the task counts and cuts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It costs 3.5 million. That is much.", ["It costs 3.5 million.", "That is much."]),
        (
            "Rules, e.g. for cars, help. So do fines.",
            ["Rules, e.g. for cars, help.", "So do fines."],
        ),
        ("J. R. Smith left. He came back.", ["J. R. Smith left.", "He came back."]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("No end at all", ["No end at all"]),
        ("Trees, lakes, etc. They matter.", ["Trees, lakes, etc.", "They matter."]),
        ("The U.S. Senate voted. It lost.", ["The U.S. Senate voted.", "It lost."]),
        ("In the U.S. The law is old.", ["In the U.S.", "The law is old."]),
        ("He lives in the u.s. ", ["He lives in the u.s."]),
        ("It was I. You knew.", ["It was I.", "You knew."]),
        ("Really?! Yes… truly.", ["Really?!", "Yes… truly."]),
        ("  ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, parts: list[str]) -> None:
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
    assert words("Don’t — EVER — say “never”, (2nd) time!") == [
        "don't",
        "ever",
        "say",
        "never",
        "2nd",
        "time",
    ]


def test_content_words_keep_negations_and_drop_function_words() -> None:
    assert content_words("The cars do not help, never did") == ["cars", "not", "help", "never"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain café 🐘\n\ttext", "plain café 🐘\n\ttext"),
        ("\x1b[2Jafter \x1b[31mred\x1b[0m", "after red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\after", "after"),
        ("\x9b31mred", "red"),
        ("\x1b]never closed", "never closed"),
        ("\x1bcreset", "reset"),
        ("left\u202eright", "leftright"),
        ("no\u00a0break\rline", "no break line"),
        ("\ud800lone\x08\x00", "lone"),
    ],
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
