"""What a message asserts, grants and denies."""

from __future__ import annotations

import pytest

from tests.debaters.world import debate
from touche_rad.debaters.grounded.reading import READ_TURNS, parts, read
from touche_rad.evidence.quotable import quotation, whole_sentences


@pytest.mark.parametrize(
    ("message", "main"),
    [
        ("I firmly believe that pigs can fly.", "pigs can fly."),
        ("My opinion is that pigs can fly.", "pigs can fly."),
        ("However, I would argue that pigs can fly.", "pigs can fly."),
        ("This argument ignores the fact that pigs can fly.", "pigs can fly."),
        ("Your view overlooks that pigs can fly.", "pigs can fly."),
        (
            "While some birds do walk a lot, pigs can still fly very well.",
            "pigs can still fly very well.",
        ),
        (
            "Birds may walk at times, but pigs fly far better than any hen.",
            "pigs fly far better than any hen.",
        ),
        ("Pigs can fly.", "Pigs can fly."),
    ],
)
def test_the_main_claim_is_found_behind_its_frame(message: str, main: str) -> None:
    assert read(debate(message)).main == main


def test_what_is_granted_weighs_less_and_what_is_presumed_is_denied() -> None:
    granted, main = parts("Although birds do walk a lot, pigs can still fly very well.")
    assert granted.weight < main.weight
    assert not granted.denied
    presumed, own = parts("This argument assumes that pigs walk, but in fact all pigs can fly.")
    assert presumed.denied
    assert presumed.text == "pigs walk"
    assert not own.denied
    main, aside = parts("Schools should teach children cooking rather than long division.")
    assert (main.denied, aside.denied) == (False, True)


def test_nothing_is_lost_where_nothing_is_understood() -> None:
    assert [part.text for part in parts("")] == [""]
    assert [part.text for part in parts("?!")] == ["?!"]


def test_the_first_claim_and_the_latest_turns_are_read_of_a_long_debate() -> None:
    spoken = [f"word{number}." for number in range(101)]
    reading = read(debate(*spoken))
    assert reading.claim == "word0."
    assert reading.answered == "word99."
    assert len(reading.own) == READ_TURNS + 1


def test_shreds_behind_the_last_sentence_are_not_quoted() -> None:
    assert whole_sentences("Coins cost metal. coin-costs-link") == ["Coins cost metal."]
    assert whole_sentences("Mints lose. Coins cost metal.www.coins.com")[-1] == "Coins cost metal."
    assert whole_sentences("Coins cost metal") == ["Coins cost metal"]


def test_of_a_long_text_a_run_that_stands_alone_is_quoted() -> None:
    text = "Coins cost metal. " + "This " * 70 + "is so. Banks charge shops for each bag of coins."
    assert quotation(text, 60, 45) == "Banks charge shops for each bag of coins."
    assert quotation("one two three four", 3, 45) == "one two three…"
