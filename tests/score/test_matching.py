"""Debates found by id and by words, without files."""

from __future__ import annotations

from pathlib import Path

from touche_rad.debate import Debate, Response, Turn
from touche_rad.score.evaluations import Row, digest, digests
from touche_rad.score.matching import Reference


def debate(name: str, turns: int = 2, **more: str) -> Debate:
    said = tuple(
        Turn(utterance=f"{name} {turn}", response=Response(content=f"no {turn}"))
        for turn in range(turns)
    )
    return Debate(turns=said, **more)


def row(held: Debate, name: str = "") -> Row:
    return Row(line=1, id=name, conversation=digests(held))


def test_white_space_makes_no_other_turn() -> None:
    assert digest("Bees  are\n good", "No.") == digest("Bees are good", " No. ")
    assert digest("Bees are good", "No.") != digest("Bees are good No.", "")
    assert digest("a\ud800b", None) == digest("a\ud800b", "")


def test_an_id_goes_before_words() -> None:
    reference = Reference.of_debates(Path(), [debate("bees", id="x"), debate("cats", id="y")])
    assert reference.find(row(debate("bees"), "y"), 0, {}) == 1
    assert reference.find(row(debate("bees"), "unknown"), 1, {}) == 0
    assert reference.find(row(debate("owls")), 1, {}) is None


def test_an_id_that_two_debates_have_finds_nothing() -> None:
    reference = Reference.of_debates(Path(), [debate("bees", id="x"), debate("cats", id="x")])
    assert reference.find(row(debate("cats"), "x"), 0, {}) == 1


def test_the_debate_that_shares_most_turns_is_found() -> None:
    mixed = debate("bees").turns[:1] + debate("cats", 3).turns[1:]
    reference = Reference.of_debates(Path(), [debate("bees", 3), debate("cats", 3)])
    assert reference.find(row(Debate(turns=mixed)), 0, {}) == 1
