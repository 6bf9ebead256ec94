"""The one door to every user: whatever breaks behind it, somebody speaks."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from tests.refusals import expect_error
from tests.runs.fakes import ARGUMENTS, SmallIndex
from touche_rad.calls import CallContext, Caller, current_context
from touche_rad.debate import Debate, Hit, Response
from touche_rad.errors import OptionError
from touche_rad.events import EventKind
from touche_rad.users import RuleUser, Speaker, parse_user

CLAIM = Debate(id="d", claim="Zoos should be closed")
SECOND = CLAIM.with_utterance("Zoos should be closed.").with_response(
    Response(content=ARGUMENTS[0].text, arguments=ARGUMENTS[:1])
)


@dataclass
class Saying:
    """Says anything at all."""

    words: Any
    on: list[CallContext] = field(default_factory=list)

    def open(self, claim: Debate) -> Any:
        self.on.append(current_context())
        return self.words

    reply = open


class Failing:
    def open(self, claim: Debate) -> str:
        raise OSError("the\x1b[31m user\nis gone")

    reply = open


class Hanging:
    def open(self, claim: Debate) -> str:
        threading.Event().wait(3)
        raise AssertionError("nobody waits for this")

    async def reply(self, debate: Debate) -> str:
        await anyio.sleep_forever()
        raise AssertionError


class Stuck(SmallIndex):
    """An index whose search does not end before the deadline of the test."""

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        threading.Event().wait(3)
        return []


class Broken(SmallIndex):
    def search(self, field: str, query: str, k: int) -> list[Hit]:
        raise OSError("the index is gone")


def speak(user: Any, debate: Debate = CLAIM, **settings: Any) -> Any:
    return anyio.run(Speaker(user, **settings).speak, debate)


@pytest.mark.parametrize("debate", [CLAIM, SECOND])
def test_the_users_words_are_one_clean_line(debate: Debate) -> None:
    answer = speak(Saying(" Cages\x00\n are\tcruel. "), debate)
    assert answer.utterance == "Cages are cruel."
    assert answer.events == ()


@pytest.mark.parametrize("words", ["", " \n", None, 42, ["a"], b"bytes"])
def test_what_is_no_words_is_replaced(words: Any) -> None:
    answer = speak(Saying(words))
    assert answer.utterance == RuleUser(None).open(CLAIM)
    assert answer.error is not None
    assert answer.events[0].kind is EventKind.USER_FALLBACK


@pytest.mark.parametrize("debate", [CLAIM, SECOND])
def test_a_user_that_hangs_is_given_up_at_the_deadline(debate: Debate) -> None:
    answer = speak(Hanging(), debate, deadline=0.05)
    (event,) = answer.events
    assert event.kind is EventKind.USER_FALLBACK
    assert event.detail.startswith("CallTimeout: ")
    assert "0.05" in event.detail
    assert answer.utterance


def test_the_rules_stand_in_with_their_index_and_seed() -> None:
    for seed in range(5):
        rules = RuleUser(SmallIndex(), seed)
        assert speak(Failing(), SECOND, fallback=rules).utterance == rules.reply(SECOND)


def test_rules_whose_index_is_broken_speak_without_it() -> None:
    rules = RuleUser(Broken(), 3)
    assert rules.reply(SECOND) == RuleUser(None, 3).reply(SECOND)
    assert speak(Failing(), SECOND, fallback=rules).utterance == RuleUser(None, 3).reply(SECOND)


def test_rules_whose_search_does_not_end_speak_without_the_index() -> None:
    answer = speak(Failing(), SECOND, fallback=RuleUser(Stuck(), 3), deadline=0.1)
    assert answer.utterance == RuleUser(None, 3).new_reply(SECOND)


def test_the_occasion_says_who_speaks_in_which_turn_and_until_when() -> None:
    user = Saying("Yes.")
    speak(user, SECOND, name="model:curious", deadline=100)
    speak(user)
    first, second = user.on
    assert first.caller == Caller("user model:curious", "d", 1)
    assert first.deadline is not None
    assert second.caller.plugin == "user Saying"
    assert second.caller.turn == 0
    assert second.deadline is None


def test_the_rules_are_named_with_their_options() -> None:
    assert parse_user("rules", {}).identity == {"user": "rules"}
    assert parse_user("rules", {"max_words": "40"}).identity == {"user": "rules(max_words=40)"}
    with expect_error("'tries'", OptionError):
        parse_user("rules", {"tries": "2"})
