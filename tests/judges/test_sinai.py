"""SINAI's judges: what each strategy asks, how often, and what becomes of the answers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from judges.grice.sinai.judge import examples
from tests.cases import with_cases
from tests.judges.makers import run_judge
from tests.models.by_schema import answering, called, form_of, prompt_of, prompts
from tests.models.scripted import Handler, Scripted, reply, says
from tests.records import read_cases, write_records
from tests.refusals import expect_error
from touche_rad import files
from touche_rad.criteria import grice
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict
from touche_rad.errors import InputError, OptionError
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import Services, find
from touche_rad.runs import judging
from touche_rad.runs.runner import run
from touche_rad.runs.work import RunOptions

DEBATE = Debate(**read_cases("judges/three_turns.json"))
ALL_NO = dict.fromkeys(("quantity", "quality", "relation", "manner"), "no")
ANSWERS: dict[str, Any] = {
    "yes|no": "yes",
    "Reasons": {"yes": "YES-REASONS", "no": "NO-REASONS"},
    "Answer": ALL_NO,
}


@pytest.fixture
def server(server: Scripted) -> Scripted:
    answering(server, ANSWERS)
    return server


def judge_views(server: Scripted, name: str, views: list[Debate], **options: str) -> list[Any]:
    plugin = find("judge", name)
    return run_judge(lambda services: plugin.make(services, options), server, *views, deadline=60)


SECOND = DEBATE.view(1)


def judge_second(server: Scripted, name: str, **options: str) -> Mapping[Maxim, Verdict]:
    """Judge the second turn of the debate."""
    (verdicts,) = judge_views(server, name, [SECOND], **options)
    return dict(verdicts)


def scores_of(verdicts: Mapping[Maxim, Verdict]) -> set[float | None]:
    return {verdict.score for verdict in verdicts.values()}


@with_cases(("name", "calls"), "judges/calls_of_the_paper.json")
def test_the_paper_asks_one_maxim_at_a_time(server: Scripted, name: str, calls: list[str]) -> None:
    verdicts = judge_second(server, name, profile="paper")
    assert sorted(called(server)) == calls
    assert set(verdicts) == set(Maxim)
    assert scores_of(verdicts) == {1.0}


@with_cases(("name", "reasons"), "judges/reasons_of_judges.json")
def test_however_many_debates_are_judged_at_once_a_turn_is_one_call(
    server: Scripted, name: str, reasons: int
) -> None:
    """The reasons of Analysis are made once a run, and not once by each who waits for them."""
    views = []
    for number in range(20):
        turns = (Turn(utterance=f"CLAIM {number}"), *DEBATE.turns)
        debate = DEBATE.model_copy(update={"turns": turns})
        views += [debate.view(turn) for turn in (1, 2, 3)]

    async def at_once() -> None:
        model = Model(Address(server.url, "tiny"))
        judge = find("judge", name).make(Services(model=model), {})
        async with anyio.create_task_group() as group:
            for view in views:
                group.start_soon(judge.judge, view)
        await model.close()

    anyio.run(at_once)
    assert called(server).count("Answer") == 60
    assert len(server.asked) == 60 + reasons


@pytest.mark.parametrize(("profile", "times"), [("lean", 1), ("paper", 2)])
def test_equal_arguments_are_listed_once(server: Scripted, profile: str, times: int) -> None:
    first = DEBATE.turns[0].response.arguments[0]
    twin = Argument(id="9", text="“argument-1” says  something of weight")
    turn = Turn(utterance="No.", response=Response(content="Yes.", arguments=(first, twin)))
    judge_views(server, "zsl", [Debate(id="d", turns=(turn,))], profile=profile)
    assert prompt_of(server.asked[0]).lower().count("argument-1") == times


def test_best_takes_each_maxims_best_strategy(server: Scripted) -> None:
    judge_second(server, "best", profile="paper")
    examples_shown = {}
    for prompt in prompts(server, "Reasons"):
        (maxim,) = re.findall(r"one criterion, (\w+):", prompt)
        examples_shown[maxim] = prompt.count("Evaluation: yes")
    assert examples_shown == {"quantity": 1, "quality": 5, "manner": 1}
    (on_relation,) = [
        prompt for prompt in prompts(server, "yes|no") if "one criterion, relation:" in prompt
    ]
    assert "Say yes if" not in on_relation


def with_logprobs(answer: str, chance: float) -> Any:
    """Answer with token logprobs in which yes is so likely wherever a verdict stands."""
    tops = [
        {"token": "yes", "logprob": math.log(chance)},
        {"token": "no", "logprob": math.log(1 - chance)},
    ]

    def act(handler: Handler) -> None:
        pieces = answer.replace('"yes"', '"\0yes\0"').replace('"no"', '"\0no\0"').split("\0")
        content = [{"token": piece, "top_logprobs": tops} for piece in pieces if piece]
        body = reply(answer, logprobs={"content": content})
        says(body)(handler)

    return act


def test_scores_are_probabilities_where_the_server_tells_them(server: Scripted) -> None:
    server.always = with_logprobs(json.dumps(dict.fromkeys(ALL_NO, "yes")), 0.75)
    verdicts = judge_second(server, "zsl")
    assert [verdict.score for verdict in verdicts.values()] == pytest.approx([0.75] * 4)
    server.always = with_logprobs("yes", 0.6)
    verdicts = judge_second(server, "zsl", profile="paper")
    assert [verdict.score for verdict in verdicts.values()] == pytest.approx([0.6] * 4)


def judge_file(server: Scripted, **options: str) -> list[Mapping[Maxim, Verdict]]:
    """Judge a file of the debate and return its verdicts as they were written."""
    source = Path("in.jsonl")
    out = Path(f"{len(server.asked)}.jsonl")
    source.write_text(files.simulation_line(DEBATE) + "\n")

    model = Model(Address(server.url, "tiny"), deadline=60)
    judge = find("judge", "zsl").make(Services(model=model), options)
    run(judging.work(source, judge, grice(), identity={}), out, RunOptions(model=model))
    (evaluation,) = files.read_evaluations(out)
    return list(evaluation.turns)


@pytest.mark.parametrize("per", ["turn", "maxim"])
def test_a_model_that_talks_nonsense_gives_no_verdict_and_no_failure(
    server: Scripted, per: str
) -> None:
    answering(server, dict.fromkeys(ANSWERS, "I would rather not say."))
    verdicts = judge_file(server, per=per)
    assert len(verdicts) == 3
    for of_turn in verdicts:
        for verdict in of_turn.values():
            assert verdict.score is not None
            assert 0 <= verdict.score <= 1


def test_a_prompt_on_one_maxim_that_is_too_long_loses_its_oldest_messages(server: Scripted) -> None:
    answering(server, ANSWERS)
    answer = server.always
    assert answer is not None

    def limited(handler: Handler) -> None:
        if "FIRST-USER" in prompt_of(handler.body):
            handler.say(400, b'{"error": {"message": "maximum context length is 10 tokens"}}')
        else:
            answer(handler)

    server.always = limited
    verdicts = judge_second(server, "zsl", profile="paper")
    assert scores_of(verdicts) == {1.0}
    shortened = [body for body in server.asked if "FIRST-USER" not in prompt_of(body)]
    assert len(shortened) == 4
    assert all("SECOND-USER" in prompt_of(body) for body in shortened)


def test_after_a_word_that_is_neither_yes_nor_no_the_model_is_told_what_was_wrong(
    server: Scripted,
) -> None:
    once_wrong = {"yes|no": lambda prompt: "no" if "not valid" in prompt else "Perhaps."}
    answering(server, {**ANSWERS, **once_wrong})
    verdicts = judge_second(server, "zsl", profile="paper")
    assert scores_of(verdicts) == {0.0}
    repeated = [prompt for prompt in prompts(server, "yes|no") if "not valid" in prompt]
    assert len(repeated) == 4
    assert all("perhaps" in prompt.lower() for prompt in repeated)


def test_a_turn_whose_answer_stays_invalid_is_judged_maxim_by_maxim(server: Scripted) -> None:
    answering(server, {**ANSWERS, "Answer": "I would rather not say."})
    verdicts = judge_second(server, "fsl1")
    assert called(server) == ["Answer"] * 2 + ["yes|no"] * 4
    assert "not valid" in prompt_of(server.asked[1])
    assert scores_of(verdicts) == {1.0}


@pytest.mark.parametrize("profile", ["lean", "paper"])
def test_reasons_that_cannot_be_derived_cost_one_maxim(server: Scripted, profile: str) -> None:
    def reasons(prompt: str) -> Any:
        return "none" if "one criterion, quality:" in prompt else ANSWERS["Reasons"]

    answering(server, {**ANSWERS, "Reasons": reasons})
    verdicts = judge_second(server, "analysis1", profile=profile)
    scored = {maxim for maxim, verdict in verdicts.items() if verdict.score is not None}
    assert scored == set(Maxim) - {Maxim.QUALITY}
    assert "Reasons" in str(verdicts[Maxim.QUALITY].rationale)


def test_reasons_that_a_model_cannot_derive_are_asked_for_once(server: Scripted) -> None:
    answering(server, {**ANSWERS, "Reasons": "none"})
    judge_views(server, "analysis1", [DEBATE.view(turn) for turn in range(3)])
    assert called(server).count("Reasons") == 2 * len(Maxim)  # one repair each


def test_the_model_quotes_evidence_before_its_verdicts_in_the_profiles_for_it(
    server: Scripted,
) -> None:
    quoted = {f"{maxim}_evidence": f"EVIDENCE-{maxim}" for maxim in Maxim}
    answering(server, {"Answer": {**quoted, **ALL_NO}})
    for turn in judge_file(server, profile="evidence"):
        assert all(f"EVIDENCE-{maxim}" in str(turn[maxim].rationale) for maxim in Maxim)
    answering(server, {"Answer": {**dict.fromkeys(quoted, "None."), **ALL_NO}})
    for turn in judge_file(server, profile="evidence"):
        assert all(str(turn[maxim].rationale) == "no" for maxim in Maxim)
    server.asked.clear()
    judge_file(server, profile="evidence-quality")
    keys = ["quantity", "quality_evidence", "quality", "relation", "manner"]
    assert list(form_of(server.asked[0])["properties"]) == keys


def test_evidence_is_not_quoted_for_one_maxim_at_a_time() -> None:
    with expect_error("evidence", OptionError):
        find("judge", "zsl").configure({"profile": "evidence", "per": "maxim"})


def test_our_twenty_examples_are_half_yes_and_half_no_on_each_maxim() -> None:
    for maxim in Maxim:
        for label in ("yes", "no"):
            assert sum(example.labels.get(maxim) == label for example in examples()) == 10


def test_a_users_examples_are_shown_instead(server: Scripted) -> None:
    path = Path("examples.jsonl")
    lines = [
        {
            "user": f"U-{label}",
            "system": f"S-{label}",
            "arguments": [],
            "labels": dict.fromkeys(ALL_NO, label),
        }
        for label in ("yes", "no")
    ]
    write_records(path, *lines)
    judge_second(server, "fsl1", profile="paper", examples=str(path))
    assert all("System: S-yes" in prompt for prompt in prompts(server, "yes|no"))
    with expect_error(r"3 examples with quantity = yes .* 1"):
        judge_second(server, "analysis3", examples=str(path))
    path.write_text('{"user": "a"}\n')
    with expect_error(r"examples.jsonl:1: labels", InputError):
        judge_second(server, "fsl1", examples=str(path))
