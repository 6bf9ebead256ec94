from __future__ import annotations

import pytest

from tests.judges.makers import USER, ZOO, debate, judge, turn, verdict
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn


def relation(answer: str, user: str = USER):
    return verdict(Maxim.RELATION, answer, ZOO, user=user)


def test_an_answer_that_takes_up_the_last_message_passes_and_names_the_words():
    found = relation("Zoos do not make animals suffer, since modern cages give them space.")
    assert found.yes
    assert "suffer" in found.rationale


def test_an_answer_from_another_debate_fails():
    assert not relation("Tax buys public services, and tourists pay it on every meal.").yes


@pytest.mark.parametrize("opening", ["Animals", "On the contrary: animals"])
def test_the_contrary_in_the_users_words_is_no_echo(opening):
    found = relation(f"{opening} do not suffer in cages.", "Animals suffer in cages.")
    assert "repeats" not in found.rationale
    assert found.yes


@pytest.mark.parametrize(
    "surrender",
    [
        "You are right.",
        "I agree with you.",
        "That's a good point.",
        "You've convinced me!",
        "I stand corrected.",
        "Exactly!",
        "Nobody could put it better.",
        "No, no: you win.",
        "There I would never contradict you.",
        "I take back my objection.",
        "My thoughts exactly.",
        "I have no argument against it.",
        "I am on your side.",
        "So do I.",
        "I was wrong.",
    ],
)
def test_a_surrender_fails(surrender):
    found = relation(f"{surrender} Zoos make animals suffer in cages of iron.")
    assert not found.yes
    assert "agrees with the user" in found.rationale


@pytest.mark.parametrize(
    "answer",
    [
        "You are right that cages are small, but animals in zoos suffer less than in deserts.",
        "I do not agree. Animals in zoos suffer less than in deserts.",
        "Not every point is a good point, and animals in zoos suffer less than in deserts.",
    ],
)
def test_what_takes_itself_back_is_no_surrender(answer):
    assert "agrees with the user" not in relation(answer).rationale


def test_words_of_surrender_inside_a_quotation_are_the_arguments_own():
    text = "I agree to be vaccinated because animals and zoos suffer."
    found = verdict(Maxim.RELATION, text, text)
    assert "agrees with the user" not in found.rationale


def test_it_is_read_against_the_last_message():
    before = (turn("Zoos lock animals into cages of iron.", "Zoos feed them."),)
    answer = "Zoos feed their animals well behind iron."
    drifted = debate(answer, ZOO, user="My taxes are far too high anyway.", before=before)
    stayed = debate(answer, ZOO, user="Animals behind iron starve in zoos.", before=before)
    scores = [judge().judge(one)[Maxim.RELATION].score for one in (drifted, stayed)]
    assert scores[0] < 0.5 < scores[1]


def test_who_stays_with_what_the_user_has_left_is_told_so():
    before = (turn("Zoos lock animals into cages of iron.", "Nobody learns much elsewhere."),)
    drifted = debate(ZOO, ZOO, user="A violin wakes my whole street at dawn.", before=before)
    found = judge().judge(drifted)[Maxim.RELATION]
    assert not found.yes
    assert "does not follow the user to the new topic" in found.rationale


def test_shared_words_count_for_the_lengths_of_both_sides():
    """A short answer on the point is tied more firmly than a long one that grazes it."""
    point = "Keepers give the lions space. "
    aside = "Harbours, trams, libraries, orchestras, bakeries and vineyards pay their crews. " * 3
    user = "The lions have no space."
    assert relation(point, user).score > relation(point + aside, user).score
    aside_of_the_user = aside.replace("pay", "tax")
    assert relation(point, user).score > relation(point, f"{user} {aside_of_the_user}").score


@pytest.mark.parametrize("user", [USER, "Animals suffer in the cages of zoos."])
def test_an_argument_turned_around_fails_however_firmly_it_is_tied(user):
    turned = ZOO.replace("has saved", "has never saved").replace("do not only lock", "only lock")
    assert relation(ZOO, user).yes
    assert not relation(turned, user).yes


def test_what_a_cited_argument_attacks_changes_no_verdict():
    def score(attacks: str) -> float:
        argument = Argument(id="1", text="Keepers hide food.", attacks=attacks)
        answered = Turn(
            utterance=USER, response=Response(content="Keepers hide food.", arguments=(argument,))
        )
        return judge().judge(Debate(turns=(answered,)))[Maxim.RELATION].score

    assert score("Animals suffer in cages, so zoos should be closed.") == score("")


LIONS = "The lions starve behind rusty iron bars in winter."
FOOD = "Keepers hide food."


@pytest.mark.parametrize(
    "answer",
    [
        "Lions starve in winter, sadly enough, and rusty iron is cold and ugly.",
        "Such is the way of lions, and of winter.",
        "A long story, and who would tell it?",
    ],
)
def test_what_takes_no_word_from_what_it_cites_does_not_answer(answer):
    found = verdict(Maxim.RELATION, answer, FOOD, user=LIONS)
    assert not found.yes
    assert "shares no words with the cited arguments" in found.rationale


def test_without_a_source_and_with_one_the_users_words_are_welcome():
    denied = "Lions do not starve in winter behind iron bars, for they sleep and are cold."
    assert (
        "shares no words with the cited arguments"
        not in verdict(Maxim.RELATION, denied, user=LIONS).rationale
    )
    sourced = "Lions do not starve in winter behind iron bars, since keepers hide food."
    assert verdict(Maxim.RELATION, sourced, FOOD, user=LIONS).yes


def test_a_clause_that_is_left_out_takes_its_negation_along():
    source = (
        "Lions that live by the gate no longer mind the visitors after a few weeks. A lion lets a"
        " familiar keeper pass, and growls at an unfamiliar one."
    )
    answer = (
        "That is how it goes with lions that live by the gate, for a lion lets a familiar keeper"
        " pass and growls at an unfamiliar one."
    )
    user = "The lions suffer when visitors and keepers pass their gate."
    assert verdict(Maxim.RELATION, answer, source, user=user).yes


TRAFFIC = (
    "When driving into town becomes inconvenient, people do not stop driving, they drive around it."
)
AROUND = (
    "People do not stop driving, they drive around it, when driving into town becomes inconvenient."
)


@pytest.mark.parametrize(
    "echo",
    [
        TRAFFIC,
        f"On the contrary: {TRAFFIC}",
        f"Not so: {TRAFFIC}",
        f"I am not convinced: {TRAFFIC}",
        f"That is not true. {TRAFFIC}",
        f"“{TRAFFIC}”",
        f"I disagree: “{TRAFFIC}” So it is.",
        AROUND,
        f"On the contrary: {AROUND}",
        f"On the contrary: {TRAFFIC.replace('stop', 'cease').replace('people', 'persons')}",
        TRAFFIC.upper(),
    ],
)
@pytest.mark.parametrize("cites_itself", [True, False])
def test_an_echo_fails_behind_any_opening_in_any_order_and_however_it_is_cited(
    echo: str, cites_itself: bool
) -> None:
    cited = Argument(id="1", text=TRAFFIC if cites_itself else ZOO, attacks="Driving into town.")
    now = debate(echo, cited.text, user=TRAFFIC)
    later = debate(
        echo, cited.text, user="Buses are slower than cars.", before=(turn(TRAFFIC, ZOO),)
    )
    for one in (now, later):
        assert not judge().judge(one)[Maxim.RELATION].yes


def test_two_messages_of_the_user_in_one_answer_are_an_echo():
    both = "On the contrary: cars are fast. The town has no room for parked cars."
    before = (turn("The town has no room for parked cars.", ZOO),)
    answered = debate(both, both, user="Cars are fast.", before=before)
    found = judge().judge(answered)[Maxim.RELATION]
    assert not found.yes
    assert "repeats" in found.rationale


@pytest.mark.parametrize(
    "framed",
    [
        "I fully agree with you: {}",
        "Exactly as you say, {}",
        "I could not agree more: {}",
        "You are right that {}",
        "Like you, I believe that {}",
        "{} So I agree with you.",
    ],
)
def test_agreement_before_or_after_a_quotation_is_not_contrary_to_the_user(framed):
    quoted = ZOO[0].lower() + ZOO[1:] if not framed.startswith("{") else ZOO
    assert verdict(Maxim.RELATION, ZOO, ZOO).yes
    assert not verdict(Maxim.RELATION, framed.format(quoted), ZOO).yes


def test_agreement_that_is_taken_back_is_contrary_to_the_user():
    assert verdict(Maxim.RELATION, f"I agree with you. But {ZOO[0].lower()}{ZOO[1:]}", ZOO).yes
