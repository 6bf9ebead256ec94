"""No debater cites what contradicts its earlier citations, with or without them in the messages."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.cases import with_cases
from tests.debaters.test_with_a_model import answer
from tests.debaters.world import (
    ARGUMENTS,
    PENNY,
    WORTH,
    WORTHLESS,
    BothSides,
    argument,
    cited_texts,
    debate,
)
from tests.models.by_schema import answering, prompt_of
from tests.models.scripted import Scripted
from touche_rad.debate import Debate, Response

ROUNDED, JARS = ARGUMENTS[0].text, ARGUMENTS[1].text
WITHOUT_CITATIONS = debate(WORTHLESS, f"I disagree: {ROUNDED}", WORTH)
WITH_CITATIONS = (
    debate(WORTHLESS)
    .with_response(Response(content="I hold it dear.", arguments=ARGUMENTS[:1]))
    .with_utterance(WORTH)
)
DEBATERS = ("grounded", "verbatim", "composed", "sinai", "rdebater", "inspiredebate")


@pytest.fixture
def server(server: Scripted) -> Scripted:
    """A model that only speaks; all else that a debater asks for fails."""
    spoken = {"reasoning": "It is dear.", "argument": "I hold the penny dear.", "evidence": []}
    answering(server, defaultdict(RuntimeError, Speech=spoken))
    return server


def considered(
    server: Scripted, name: str, unanswered: Debate, index: Any = None, **options: str
) -> str:
    """What a debater cites and what it shows its model."""
    response = answer(server, name, unanswered, index, **options)
    return "\n".join([*cited_texts(response), *map(prompt_of, server.asked)])


@pytest.mark.parametrize("name", DEBATERS)
def test_an_argument_against_an_earlier_citation_is_neither_cited_nor_shown(
    server: Scripted, name: str
) -> None:
    assert JARS in considered(server, name, debate(WORTHLESS, "I hold it dear.", WORTH))
    server.asked.clear()
    assert JARS not in considered(server, name, WITH_CITATIONS)
    assert JARS not in considered(server, name, WITHOUT_CITATIONS)


@pytest.mark.parametrize("name", DEBATERS)
def test_where_all_contradict_the_best_is_taken(server: Scripted, name: str) -> None:
    contradictory = BothSides(ARGUMENTS[1:2])
    assert JARS in considered(server, name, WITH_CITATIONS, contradictory)


@pytest.mark.parametrize("name", ["sinai", "rdebater", "inspiredebate"])
def test_the_papers_do_not_look_back(server: Scripted, name: str) -> None:
    index = BothSides()
    assert JARS in considered(server, name, WITH_CITATIONS, index, profile="paper")
    considered(server, name, WITHOUT_CITATIONS, index, profile="paper")
    assert f"I disagree: {ROUNDED}" not in [query for _, query, _ in index.searched]


LIGHT = argument(
    1, PENNY, "Coins are heavy.", "Coins are light.", "A purse full of coins is light."
)
HEAVY = argument(3, PENNY, "Light coins are fine.", "Light coins are bad.", "Nobody weighs coins.")


@with_cases(("attacks", "supports", "text"), "debaters/contradicting_fields.json")
def test_each_field_can_contradict(
    server: Scripted, attacks: str, supports: str, text: str
) -> None:
    contradictory = argument(2, PENNY, attacks, supports, text)
    index = BothSides((LIGHT, contradictory, HEAVY))
    unanswered = debate("Coins are heavy.", LIGHT.text, attacks)
    assert cited_texts(answer(server, "verbatim", unanswered, index)) == [HEAVY.text]
