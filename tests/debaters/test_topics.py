"""The debaters stay on the topic of the debate, whatever the last message leads to."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from tests.debaters.world import ARGUMENTS, NIGHT, PENNY, BothSides, answers, debate
from tests.models.scripted import Scripted
from tests.retrieval.small import opened, without_pisa
from touche_rad.debate import NOTHING_FOUND
from touche_rad.debaters.grounded.ranking import rank, read
from touche_rad.debaters.inspiredebate._conversation import SearchField, arguments_for
from touche_rad.debaters.rdebater._options import RdebaterOptions
from touche_rad.debaters.rdebater._retrieval import retrieved
from touche_rad.plugins import ExplainedCandidate, Services, find

ABOLISH = "The worthless penny should be abolished, because no shop needs it."
ASIDE = "A traveller on a short flight never misses it."
MESSAGES = {
    ABOLISH: True,
    "Zzz qqq.": False,
    "Der Cent ist nichts wert.": False,
    "Το κέρμα είναι άχρηστο.": False,
    "便士应该被废除。": False,
}
"""Whether the collection has words of a message."""
WORDS = ["penny", "traveller", "flight"]
PAPER = RdebaterOptions(on_topic=False)
ANSWER = "Night trains need empty tracks, and short flights reach towns that night trains pass by."


def candidates(index: BothSides, *texts: str) -> list[ExplainedCandidate]:
    grounded = find("debater", "grounded").make(Services(index=index))
    explained: list[ExplainedCandidate] = grounded.explain(debate(*texts))
    return explained


def test_a_message_that_leads_elsewhere_is_answered_on_the_topic_of_the_debate() -> None:
    assert candidates(BothSides(), ASIDE)[0].topic == NIGHT
    after_answer = candidates(BothSides(), ABOLISH, "I disagree.", ASIDE)
    assert [candidate.topic for candidate in after_answer[:3]] == [PENNY] * 3


def test_a_user_who_changes_the_topic_for_good_is_followed() -> None:
    trains = "Night trains should replace short flights, and a traveller sleeps in a rattling bunk."
    later = candidates(BothSides(), ABOLISH, "I disagree.", trains, "I disagree.", f"Yes, {ASIDE}")
    assert later[0].topic == NIGHT


def test_the_answers_of_the_debater_lead_nowhere() -> None:
    index = BothSides()
    candidates(index, ABOLISH, ANSWER, "No shop needs it.")
    to_find_its_citation = ("text", ANSWER, 2)
    assert [row for row in index.searched if "tracks" in row[1]] == [to_find_its_citation]
    assert len(index.searched) > 1


def test_messages_between_the_first_and_the_last_one_find_candidates() -> None:
    queries = read(debate("Prices rise.", "No.", "Charities need tins.", "No.", "Drawers, then."))
    by_id = {candidate.argument.id: candidate for candidate in rank(BothSides(), queries, 9)}
    assert "debate" in by_id["7.3"].routes
    first_turn = rank(BothSides(), read(debate("Charities need tins.")), 9)
    assert [set(candidate.routes) for candidate in first_turn] == [{"text"}] * len(first_turn)


@pytest.mark.parametrize("with_engine", [nullcontext, without_pisa])
@pytest.mark.parametrize("topics", [{}, {"topic": ""}, {"topic": PENNY}])
def test_every_message_gets_an_argument_or_nothing_found(
    server: Scripted, with_engine: Any, topics: dict[str, str]
) -> None:
    arguments = [argument.model_copy(update=topics) for argument in ARGUMENTS]
    with with_engine():
        services = Services(index=opened(arguments, "index"))
    grounded = find("debater", "grounded").make(services)
    explained = grounded.explain(debate(ABOLISH, "No.", ASIDE))
    assert {candidate.id for candidate in explained} == {argument.id for argument in arguments}
    topical = find("retriever", "topical").make(services)
    for message, finds in MESSAGES.items():
        unanswered = [debate(message), debate(ABOLISH, "No.", message)]
        composed = answers(server, "composed", unanswered, services.index)
        for first, later in (map(grounded.answer, unanswered), composed):
            assert (bool(first.arguments), first.content == NOTHING_FOUND) == (finds, not finds)
            assert later.arguments
        assert bool(topical.search(message, 9)) == finds


def test_rdebater_and_inspiredebate_keep_to_the_topic_outside_paper() -> None:
    unanswered = debate(ABOLISH, "I disagree.", ASIDE)
    for settings, topics in ((RdebaterOptions(), {PENNY}), (PAPER, {PENNY, NIGHT})):
        recall = retrieved(BothSides(), lambda ids: [None] * len(ids), unanswered, WORDS, settings)
        assert {record.argument.topic for record in recall.evidence} == topics
    queries: list[tuple[SearchField, str]] = [("all", ABOLISH), ("all", ASIDE)]
    off_topic = debate("Zzz.")  # then the arguments of all topics stay
    for view, only_on_topic, topics in (
        (unanswered, True, {PENNY}),
        (unanswered, False, {PENNY, NIGHT}),
        (off_topic, True, {PENNY, NIGHT}),
    ):
        pieces = arguments_for(
            BothSides(), queries, 3, view, repeat=True, only_on_topic=only_on_topic
        )
        assert {piece.title for piece in pieces} == topics
