from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runs.fakes import ARGUMENTS, SmallIndex
from touche_rad.debate import Argument, Debate, Response
from touche_rad.text import count_words
from touche_rad.users import ASKING_ABOUT_ALL, OPENING_ON_NOTHING, RuleUser
from touche_rad.users.arguments import arguments_for_user, score_for_user, stance, word_overlap

INDEX = SmallIndex()
CLAIM = Debate(id="d", claim="Zoos should be closed")
PRO, CONTRA = ARGUMENTS[1], ARGUMENTS[0]


def answered(debate: Debate, utterance: str, *cited: Argument, content: str = "") -> Debate:
    words = content or " ".join(argument.text for argument in cited) or "No."
    return debate.with_utterance(utterance).with_response(Response(content=words, arguments=cited))


def play(user: RuleUser, turns: int = 5, claim: Debate = CLAIM) -> list[str]:
    debate, utterances = claim, []
    for turn in range(turns):
        utterances.append(user.reply(debate) if debate.turns else user.open(debate))
        debate = answered(debate, utterances[-1], CONTRA if turn % 2 else ARGUMENTS[2])
    return utterances


@pytest.mark.parametrize("seed", range(20))
def test_the_opening_states_the_claim_as_an_opinion(seed: int) -> None:
    opening = RuleUser(INDEX, seed).open(CLAIM)
    assert "Zoos should be closed" in opening
    assert {"I", "my", "My"} & set(opening.replace(".", " ").split())


def test_a_question_is_answered_and_nothing_is_asked_about() -> None:
    assert "yes" in RuleUser(None).open(Debate(claim="Does pineapple belong on pizza?"))
    assert RuleUser(None).open(Debate(claim=" \n")) == OPENING_ON_NOTHING


def test_the_first_reply_counters_with_an_argument_of_the_own_side() -> None:
    for seed in range(20):
        reply = RuleUser(INDEX, seed).reply(answered(CLAIM, "Zoos should be closed.", CONTRA))
        assert PRO.text in reply


def test_no_argument_is_said_twice_and_none_of_the_other_side() -> None:
    for seed in range(20):
        text = " ".join(play(RuleUser(INDEX, seed), turns=8))
        counters = [text.split("You say")[0].count(PRO.text), text.count(ARGUMENTS[3].text)]
        assert max(counters) <= 1
        assert CONTRA.text not in text


@pytest.mark.parametrize(
    "response",
    [Response(content="No.", arguments=(PRO,)), Response(content=f"Yes. {PRO.text}")],
    ids=["cited", "said"],
)
def test_what_the_system_used_is_not_brought_back_as_a_counter(response: Response) -> None:
    first = CLAIM.with_utterance("Zoos should be closed.")
    unused = answered(first.with_response(Response(content="No.")), "Why?", CONTRA)
    assert PRO in arguments_for_user(INDEX, CLAIM.claim, unused, 20)
    used = answered(first.with_response(response), "Why?", CONTRA)
    assert PRO not in arguments_for_user(INDEX, CLAIM.claim, used, 20)


def test_without_arguments_the_user_asks_and_insists() -> None:
    replies = play(RuleUser(None, 3), turns=5)[1:]
    questions = [reply for reply in replies if "?" in reply]
    insisted = [reply for reply in replies if "Zoos should be closed." in reply]
    assert len(questions) == 2
    assert len(insisted) == 2
    assert len(set(replies)) == 4


def test_a_long_answer_is_not_echoed() -> None:
    long = " ".join(["word"] * 40) + "."
    debate = answered(CLAIM, "Zoos should be closed.", content=long)
    assert RuleUser(None).reply(debate) == ASKING_ABOUT_ALL


@pytest.mark.parametrize("index", [None, INDEX])
def test_who_stands_in_says_nothing_twice(index: SmallIndex | None) -> None:
    for seed in range(3):
        user, debate = RuleUser(index, seed, RuleUser.Options(max_words=30)), CLAIM
        for _ in range(12):
            words = user.new_reply(debate) if debate.turns else user.open(debate)
            assert words not in [turn.utterance for turn in debate.turns]
            assert count_words(words) <= 30
            debate = answered(debate, words, content="No end of words " * 20)


def test_quotation_marks_of_the_answer_do_not_break_the_question() -> None:
    debate = answered(CLAIM, "Zoos should be closed.", content='He said "no" to {it}.')
    reply = RuleUser(None).reply(debate)
    assert "He said 'no' to {it}." in reply
    assert reply.count('"') == 2


def test_the_words_depend_on_seed_claim_and_turn_alone() -> None:
    assert play(RuleUser(INDEX, 1)) == play(RuleUser(INDEX, 1))
    assert len({tuple(play(RuleUser(INDEX, seed))) for seed in range(10)}) > 5


@given(st.text(), st.lists(st.text(min_size=1), max_size=4), st.integers())
def test_any_debate_is_replied_to_in_at_most_60_words(
    claim: str, answers: list[str], seed: int
) -> None:
    user = RuleUser(INDEX, seed)
    debate = Debate(claim=claim)
    utterance = user.open(debate)
    for answer in answers:
        assert utterance.strip()
        assert count_words(utterance) <= 60
        debate = answered(debate, utterance, content=answer)
        utterance = user.reply(debate)
    assert count_words(utterance) <= 60


def test_likeness_is_the_shared_part_of_the_content_words() -> None:
    assert word_overlap("Zoos harm animals.", "zoos harm people") == pytest.approx(2 / 4)
    assert word_overlap("Zoos never harm.", "Zoos harm") == 1.0
    assert word_overlap("", "Zoos") == 0.0


def test_a_negation_turns_what_a_field_says() -> None:
    plain = Argument(id="a", text="t", supports="Zoos harm animals", attacks="Zoos heal people")
    assert stance(plain, "Zoos harm animals") == pytest.approx(1 - 1 / 5)
    assert stance(plain, "Zoos do not harm animals") == pytest.approx(-1 + 1 / 5)
    pair = Argument(id="b", text="t", supports="Zoos are not cruel", attacks="Zoos are cruel")
    assert stance(pair, "Zoos are cruel") == -2.0


def test_an_argument_that_attacks_what_was_cited_is_of_the_own_side() -> None:
    reply = Argument(id="r", text="t", attacks=CONTRA.text, supports="Breeding needs no zoo.")
    assert score_for_user(reply, "Close them", "Other words entirely", [CONTRA]) > 0.5
    friend = Argument(id="f", text="t", attacks=CONTRA.attacks, supports=CONTRA.supports)
    assert score_for_user(friend, "Close them", CONTRA.text, [CONTRA]) < 0


def test_an_argument_on_a_topic_farther_from_the_claim_is_left_alone() -> None:
    near = Argument(id="n", text="N.", topic="Should zoos be closed?", attacks="Cages are kind.")
    far = Argument(id="f", text="F.", topic="Should shops be closed early?", attacks=near.attacks)
    debate = answered(CLAIM, "Zoos should be closed.", content="Cages are kind.")
    assert arguments_for_user(SmallIndex([near, far]), CLAIM.claim, debate, 20) == [near]
    assert arguments_for_user(SmallIndex([far]), "Bees matter", debate, 20) == [far]
