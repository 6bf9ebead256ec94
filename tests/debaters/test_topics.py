"""The debaters stay on the topic of the debate, whatever the last message leads to."""

from __future__ import annotations

import pytest

from tests.debaters.world import ARGUMENTS, NIGHT, PENNY, BothSides, debate
from touche_rad.debate import NOTHING_FOUND
from touche_rad.debaters._asking import on_topic
from touche_rad.debaters.grounded.ranking import rank, read
from touche_rad.debaters.inspiredebate._conversation import SearchField, arguments_for
from touche_rad.debaters.rdebater._options import RdebaterOptions
from touche_rad.debaters.rdebater._retrieval import retrieved
from touche_rad.plugins import ExplainedCandidate, Services, find

ABOLISH = "The worthless penny should be abolished, because no shop needs it."
ASIDE = "A traveller on a short flight never misses it."
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
    assert index.searched
    assert not any("tracks" in query for _, query, _ in index.searched)


def test_messages_between_the_first_and_the_last_one_find_candidates() -> None:
    queries = read(debate("Prices rise.", "No.", "Charities need tins.", "No.", "Drawers, then."))
    by_id = {candidate.argument.id: candidate for candidate in rank(BothSides(), queries, 9)}
    assert set(by_id["7.3"].routes) == {"debate"}
    assert by_id["7.3"].path == ("shares words with what you said before",)
    first_turn = rank(BothSides(), read(debate("Charities need tins.")), 9)
    assert [set(candidate.routes) for candidate in first_turn] == [{"text"}] * len(first_turn)


@pytest.mark.parametrize("topic", ["", PENNY])
def test_without_topics_or_with_one_every_argument_can_be_quoted(topic: str) -> None:
    arguments = [argument.model_copy(update={"topic": topic}) for argument in ARGUMENTS]
    index = BothSides(arguments)
    assert candidates(index, ASIDE)[0].id in {"7.5", "7.6", "7.7"}
    ids = {candidate.id for candidate in candidates(index, ABOLISH, "No.", ASIDE)}
    assert ids == {argument.id for argument in arguments}


def test_words_that_the_collection_has_not_end_as_before() -> None:
    grounded = find("debater", "grounded").make(Services(index=BothSides()))
    assert grounded.answer(debate("Zzz qqq.")).content == NOTHING_FOUND
    assert grounded.answer(debate("Zzz qqq.", "No.", "Der Cent ist nichts wert.")).content


def test_rdebater_and_inspiredebate_keep_to_the_topic_outside_paper() -> None:
    unanswered = debate(ABOLISH, "I disagree.", ASIDE)
    both_topics = [ARGUMENTS[4], ARGUMENTS[0]]
    assert list(on_topic(BothSides(), unanswered, both_topics)) == [ARGUMENTS[0]]
    assert list(on_topic(BothSides(), unanswered, [ARGUMENTS[4]])) == [ARGUMENTS[4]]
    assert list(on_topic(BothSides(), debate("Zzz."), both_topics)) == both_topics
    for settings, topics in ((RdebaterOptions(), {PENNY}), (PAPER, {PENNY, NIGHT})):
        recall = retrieved(BothSides(), lambda ids: [None] * len(ids), unanswered, WORDS, settings)
        assert {record.argument.topic for record in recall.evidence} == topics
    queries: list[tuple[SearchField, str]] = [("all", ABOLISH), ("all", ASIDE)]
    for only_on_topic, topics in ((True, {PENNY}), (False, {PENNY, NIGHT})):
        pieces = arguments_for(
            BothSides(), queries, 3, unanswered, repeat=True, only_on_topic=only_on_topic
        )
        assert {piece.title for piece in pieces} == topics
