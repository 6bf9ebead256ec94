"""The debater `best-of-n`: whose answers, who chooses, and what happens when either fails."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.models.by_schema import filling, schema_of
from tests.models.scripted import Scripted
from touche_rad.debate import NOTHING_FOUND, Debate, Maxim, Response, Turn, Verdict
from touche_rad.errors import OptionError, UserError, WorkError
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import Services, debater, find, judge

ASKED = Debate(claim="Zoos are good.", turns=(Turn(utterance="Zoos are good."),))


SHORT, LONG = "No.", "No, and that is all there is to it."


class _Says:
    """Says one text; without a text it fails."""

    text = ""

    def __init__(self, options: Any, services: Services) -> None:
        self.services = services

    def answer(self, debate: Debate) -> Response:
        if not self.text:
            raise RuntimeError("no idea")
        return Response(content=self.text)


for name, text in {
    "says-short": SHORT,
    "says-long": LONG,
    "says-nothing": "",
    "found-nothing": NOTHING_FOUND,
}.items():
    debater(name)(type("Says", (_Says,), {"text": text}))


@debater("says-its-seed")
class Seed(_Says):
    """Asks a model, or would."""

    uses = ("model",)

    def answer(self, debate: Debate) -> Response:
        model = self.services.model
        assert model is not None
        return Response(content=f"seed {model.settings.seed} at {model.settings.temperature:g}.")


SEEN: list[str] = []


@judge("likes-long")
class LikesLong:
    """Likes many letters."""

    def __init__(self, options: Any, services: Services) -> None:
        pass

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        assert debate.last.response is not None
        SEEN.append(debate.last.response.content)
        return dict.fromkeys(Maxim, Verdict(score=len(debate.last.response.content) / 100))


@judge("has-no-idea")
class NoIdea(LikesLong):
    """Has no verdict."""

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        raise RuntimeError("no idea")


def answer_by_best_of_n(model: Model | None = None, **options: str) -> str:
    SEEN.clear()
    best_of_n = find("debater", "best-of-n").make(Services(model=model), options)

    async def work() -> Response:
        response: Response = await best_of_n.answer(ASKED)
        return response

    return anyio.run(work).content


def test_the_judge_chooses_among_the_debaters_answers() -> None:
    assert answer_by_best_of_n(of="says-short,says-long", judge="likes-long") == LONG
    assert sorted(SEEN) == sorted([SHORT, LONG])


def test_equal_answers_are_judged_once_and_a_single_one_not_at_all() -> None:
    assert answer_by_best_of_n(of="says-short,says-short,says-long", judge="likes-long") == LONG
    assert len(SEEN) == 2
    assert answer_by_best_of_n(of="says-short", judge="likes-long") == SHORT
    assert SEEN == []


def test_who_fails_is_left_out() -> None:
    assert answer_by_best_of_n(of="says-nothing,says-short", judge="likes-long") == SHORT
    with pytest.raises(WorkError, match="no idea"):
        answer_by_best_of_n(of="says-nothing", judge="likes-long")


def test_an_answer_goes_before_the_sentence_that_nothing_was_found() -> None:
    debaters = "found-nothing,says-short"
    assert answer_by_best_of_n(of=debaters, judge="likes-long") == SHORT
    assert answer_by_best_of_n(of=debaters, judge="has-no-idea") == SHORT
    assert answer_by_best_of_n(of="found-nothing", judge="likes-long") == NOTHING_FOUND


def test_without_a_verdict_the_first_answer_goes_out() -> None:
    assert answer_by_best_of_n(of="says-short,says-long", judge="has-no-idea") == SHORT


def test_a_debater_with_a_model_answers_n_times_first_in_its_own_manner() -> None:
    model = Model(Address("http://127.0.0.1:9/v1", "tiny"))
    answer_by_best_of_n(model, of="says-its-seed", judge="likes-long", n="3", temperature="0.5")
    assert sorted(SEEN) == ["seed 0 at 0.", "seed 1 at 0.5.", "seed 2 at 0.5."]


@pytest.mark.parametrize(
    ("of", "judge", "message"),
    [
        ("best-of-n", "grounded", "contain itself"),
        ("nobody", "grounded", "'nobody'"),
        ("sinai", "grounded", "needs an argument index"),
        ("says-short", "nobody", "'nobody'"),
        ("says-short", "debatrix", "cannot judge here"),
        ("grounded(x)", "grounded", "KEY=VALUE"),
        ("verbatim(wit=1)", "grounded", "wit"),
        (",", "grounded", "at least one"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_asked(of: str, judge: str, message: str) -> None:
    with pytest.raises((OptionError, UserError), match=message):
        answer_by_best_of_n(of=of, judge=judge)


def test_a_panel_chooses_too_by_how_far_the_system_is_ahead(server: Scripted) -> None:
    def verdict(prompt: str) -> Any:
        good = "No, and that" in prompt
        mark = {"comment": "c", "score": 9 if good else 2}
        average = {"comment": "c", "score": 5}
        winner = "debater_2" if good else "debater_1"
        return {
            "analysis": "a",
            "debater_1": average,
            "debater_2": mark,
            "comment": "c",
            "winner": winner,
        }

    filling(server, Verdict=verdict)
    model = Model(Address(server.url, "tiny"), deadline=5)
    panel = "debatrix(context=direct,columns=single)"
    assert answer_by_best_of_n(model, of="says-short,says-long", judge=panel) == LONG
    assert [schema_of(body) for body in server.asked] == ["Verdict", "Verdict"]
