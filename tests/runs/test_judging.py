from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.records import read_json, read_records, write_records
from tests.refusals import expect_error
from tests.runs import fakes
from tests.runs.test_runs import write_simulations
from touche_rad import files
from touche_rad.contest import Contest, Outcome, to_contest
from touche_rad.criteria import grice
from touche_rad.debate import Debate, Maxim, Response, Verdict, Verdicts
from touche_rad.errors import WorkError
from touche_rad.files.outputs import Status
from touche_rad.plugins import LoadedJudge, LoadedPanel
from touche_rad.runs import judging
from touche_rad.runs.judging import CachedJudge, judge_view
from touche_rad.runs.panels import judge_contest
from touche_rad.runs.runner import run
from touche_rad.runs.work import RunOptions

VIEW = fakes.debate_of("Zoos should be closed.").with_response(Response(content="No.")).as_served()


def four_verdicts(score: float | None = 0.25, **changed: Any) -> dict[Any, Any]:
    return {maxim: Verdict(score=score, rationale="because") for maxim in Maxim} | {
        Maxim(name): verdict for name, verdict in changed.items()
    }


class Giving:
    """Gives one thing after the other, the last for ever."""

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.views: list[Debate] = []

    def judge(self, view: Debate) -> Any:
        self.views.append(view)
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        if isinstance(result, BaseException):
            raise result
        return result


CUT_OFF = Giving(four_verdicts(manner=Verdict(rationale="cut off")))


class GivingAsync(Giving):
    async def judge(self, view: Debate) -> Any:
        await anyio.sleep(0)
        return super().judge(view)


class Never:
    async def judge(self, view: Debate) -> Any:
        await anyio.sleep_forever()


def judge_last(plugin: Any, **settings: Any) -> Any:
    return anyio.run(partial(judge_view, LoadedJudge(plugin), VIEW, grice(), **settings))


@pytest.mark.parametrize("kind", [Giving, GivingAsync])
def test_good_verdicts_need_one_call(kind: type[Giving]) -> None:
    plugin = kind(four_verdicts())
    result = judge_last(plugin)
    assert result.verdicts == four_verdicts()
    assert result.unscored == {}
    assert plugin.views == [VIEW]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (four_verdicts(quality=None), "left it out"),
        (four_verdicts(quality=Verdict(score=None)), "gave no score"),
        (
            four_verdicts(quality=Verdict(rationale="the model\nrefused")),
            "the model refused",
        ),
        (four_verdicts(quality=Verdict(score=float("nan"))), "score of nan is not between 0 and 1"),
        (four_verdicts(quality=Verdict(score=7.5)), "score of 7.5 is not between"),
        (four_verdicts(quality=Verdict(score=-0.1)), "score of -0.1 is not between"),
        (four_verdicts(quality="yes"), "not a verdict"),
        (four_verdicts(quality={"rationale": "no score"}), "no score"),
    ],
)
def test_instead_of_a_bad_verdict_there_is_a_fixed_score(
    bad: Mapping[Maxim, Any], reason: str
) -> None:
    plugin = Giving(bad)
    result = judge_last(plugin)
    assert set(result.unscored) == {Maxim.QUALITY}
    assert reason in result.unscored[Maxim.QUALITY]
    fallback = result.verdicts[Maxim.QUALITY]
    assert fallback.score == 1.0
    assert fallback.rationale.startswith("no verdict (")
    assert reason in fallback.rationale
    assert result.verdicts[Maxim.MANNER].score == 0.25


@pytest.mark.parametrize(
    "bad", [ValueError("no"), SystemExit(2), None, [], 0.7, "yes", {}, MemoryError()], ids=repr
)
def test_a_judge_that_fails_has_fixed_scores(bad: Any) -> None:
    failed = judge_last(Giving(bad))
    assert list(failed.verdicts) == list(Maxim)
    assert set(failed.unscored) == set(Maxim)
    assert {verdict.score for verdict in failed.verdicts.values()} == {1.0}


def test_official_names_dicts_and_rounding_are_accepted() -> None:
    verdicts = {
        maxim.key: {"score": 1.0000001, "rationale": "a\x00b", "extra": {"model": "m"}}
        for maxim in Maxim
    }
    for verdict in judge_last(Giving(verdicts)).verdicts.values():
        assert verdict == Verdict(score=1.0, rationale="a b", extra={"model": "m"})


class NeverPanel:
    async def judge(self, contest: Contest) -> Outcome:
        await anyio.sleep_forever()
        raise AssertionError


def test_a_judge_of_a_view_has_a_time_limit() -> None:
    result = judge_last(Never(), deadline=0.02)
    assert "0.02 seconds" in result.unscored[Maxim.QUANTITY]


SECOND = VIEW.with_utterance("And?").with_response(Response(content="No."))


def test_the_oldest_verdicts_make_room() -> None:
    plugin = Giving(four_verdicts())

    async def judge_in_turns() -> None:
        cached = CachedJudge(LoadedJudge(plugin), grice(), size=1)
        for view in (VIEW, VIEW, SECOND, SECOND, VIEW):
            await cached.judge(view)

    anyio.run(judge_in_turns)
    assert plugin.views == [VIEW, SECOND, VIEW]


def test_a_panel_has_a_time_limit() -> None:
    outcome, _ = anyio.run(
        partial(judge_contest, LoadedPanel(NeverPanel()), to_contest(VIEW), deadline=0.02)
    )
    assert outcome.winner is None
    assert "0.02 seconds" in outcome.reason


def judge_file(source: Path, plugin: Any, **options: Any) -> Status:
    work = judging.work(source, LoadedJudge(plugin), grice(), identity={"judge": "j"})
    return run(work, source.parent / "evaluations.jsonl", RunOptions(**options))


def test_nothing_is_judged_after_the_end_of_a_run() -> None:
    """The first response fails at once, and the other waits: a strict run ends with both."""
    ended = threading.Event()

    class FailsOrWaits:
        async def judge(self, debate: Debate) -> Verdicts:
            if len(debate.turns) == 1:
                await anyio.sleep(0.05)
                raise ValueError("no verdict")
            try:
                await anyio.sleep(60)
            finally:
                ended.set()
            return four_verdicts()

    with expect_error("--strict", WorkError):
        judge_file(write_simulations(), FailsOrWaits(), strict=True)
    assert ended.is_set()


def test_an_evaluation_is_an_official_line() -> None:
    source = write_simulations(2)
    plugin = Giving(four_verdicts(quality=Verdict(score=1, rationale="quoted")))
    status = judge_file(source, plugin)
    lines = read_records("evaluations.jsonl")
    assert [line["simulation"]["userTurns"][1]["utterance"] for line in lines] == [
        "Utterance 0.1",
        "Utterance 1.1",
    ]
    for line in lines:
        assert len(line["userTurnsEvaluations"]) == 2
        for turn in line["userTurnsEvaluations"]:
            assert list(turn) == ["Quantity", "Quality", "Relation", "Manner"]
            assert turn["Quality"] == {"score": 1.0, "explanation": "quoted"}
            assert type(turn["Quality"]["score"]) is float
    assert status.counts == {"verdicts": 16}
    assert status.replaced == 0


def test_the_judge_sees_nothing_later_than_the_judged_turn() -> None:
    plugin = Giving(four_verdicts())
    judge_file(write_simulations(), plugin)
    views = sorted(plugin.views, key=lambda view: len(view.turns))  # judged at the same time
    assert [len(view.turns) for view in views] == [1, 2]
    assert [view.last.response.content for view in views if view.last.response] == [
        "Recorded 0.0",
        "Recorded 0.1",
    ]


def test_a_note_names_the_turn_also_behind_a_turn_without_a_response() -> None:
    source = write_simulations()
    path = Path("status.json")
    debate = read_json(source)
    del debate["simulation"]["userTurns"][0]["systemResponse"]
    source.write_text(json.dumps(debate))
    judge_file(source, CUT_OFF, status_path=path)
    (unscored,) = read_json(path)["events"]
    (example,) = unscored["examples"]
    assert example["kind"] == "unscored"
    assert example["detail"] == "cut off"
    assert example["place"]["turn"] == 2
    assert example["place"]["maxim"] == "manner"


def test_fallbacks_are_counted_and_their_reasons_kept() -> None:
    path = Path("status.json")
    source = write_simulations(2)
    judge_file(source, CUT_OFF, status_path=path)
    status = read_json(path)
    (unscored,) = status["events"]
    assert unscored["count"] == 4
    assert status["replaced"] == 4
    assert unscored["examples"][0]["place"]["turn"] == 1
    (warning,) = status["warnings"]
    assert warning["kind"] == "fallbacks"
    assert warning["detail"].startswith("4 of 16 verdicts")
    assert "cut off" in warning["detail"]
    line = read_records("evaluations.jsonl")[0]
    verdicts = line["userTurnsEvaluations"][0]
    assert verdicts["Manner"]["score"] == 1.0
    assert "cut off" in verdicts["Manner"]["explanation"]
    assert "cut off" in verdicts["Manner"]["fallback"]
    assert "fallback" not in verdicts["Quality"]
    (read, _) = files.read_evaluations(Path("evaluations.jsonl"))
    assert [maxim for maxim, verdict in read.turns[0].items() if verdict.fallback] == [Maxim.MANNER]


def test_a_judge_cannot_say_that_its_verdict_is_a_fallback() -> None:
    extra = {"fallback": True, "model": "m"}
    verdict = Verdict(score=0.5, rationale="mine", extra=extra, fallback="mine")
    judge_file(write_simulations(), Giving(four_verdicts(manner=verdict)))
    line = read_records("evaluations.jsonl")[0]
    manner = line["userTurnsEvaluations"][0]["Manner"]
    assert manner == {"score": 0.5, "explanation": "mine", "model": "m"}


def test_equal_views_are_judged_once() -> None:
    words = (("user", "Hello"), ("assistant", "No"))
    messages = [{"role": role, "content": content} for role, content in words]
    debate = {"id": "x", "messages": messages}
    plugin = Giving(four_verdicts())
    judge_file(write_records("twice.jsonl", debate, debate), plugin, workers=1)
    assert len(plugin.views) == 1
    assert len(read_records("evaluations.jsonl")) == 2
