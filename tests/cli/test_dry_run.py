"""`--dry-run`, and the estimate of a run with a model against what it spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.models.by_schema import filling
from tests.models.scripted import Scripted
from tests.terminal import Ended, touche_rad
from touche_rad.demo import demo_file

DEBATES, CLAIMS = demo_file("debates.jsonl"), demo_file("claims.tsv")
LABELS = demo_file("labels.jsonl")


def _long(*names: str) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.long) for name in names]


def _plan(*args: str | Path, cwd: Path) -> Ended:
    """Call a command with --dry-run, and check that it wrote nothing."""
    ended = touche_rad(*args, "--dry-run", cwd=cwd)
    assert not list(cwd.iterdir())
    return ended


def _row(ended: Ended, name: str) -> list[float]:
    """Return the numbers of a row: low, expected, high."""
    (line,) = (line for line in ended.out.splitlines() if line.startswith(name))
    return [float(word.replace(",", "")) for word in line.removeprefix(name).split()]


def test_the_calls_of_a_judge_are_those_of_its_run(server: Scripted, tmp_path: Path) -> None:
    filling(server)
    plan = _plan("judge", DEBATES, "-j", "zsl", cwd=tmp_path)
    assert plan.code == 0
    assert _row(plan, "calls") == [60, 60, 60]
    assert "20 debates" in plan.out
    assert "hours are unknown" in plan.out
    assert server.asked == []
    run = touche_rad(
        "judge", DEBATES, "-j", "zsl", "-m", f"{server.url}#tiny", "-o", tmp_path / "e.jsonl"
    )
    assert run.code == 0
    assert len(server.asked) == 60


def test_the_endpoint_is_measured_with_two_requests_of_the_run(
    server: Scripted, tmp_path: Path
) -> None:
    filling(server)
    plan = _plan("judge", DEBATES, "-j", "zsl", "-m", f"{server.url}#tiny", cwd=tmp_path)
    assert len(server.asked) == 2
    assert {body["model"] for body in server.asked} == {"tiny"}
    assert "measured with 2 requests" in plan.out
    assert _row(plan, "hours ")[1] >= 0


def test_an_endpoint_that_does_not_answer_ends_the_dry_run(tmp_path: Path) -> None:
    plan = _plan("judge", DEBATES, "-j", "zsl", "-m", "http://127.0.0.1:9/v1#tiny", cwd=tmp_path)
    assert plan.code != 0
    assert "127.0.0.1:9" in plan.err


def test_hours_and_price_follow_from_the_rate_and_the_prices(tmp_path: Path) -> None:
    plan = _plan("judge", DEBATES, "-j", "zsl", "--rate", "6", "--price", "1000000,0", cwd=tmp_path)
    assert _row(plan, "hours") == [0.17, 0.17, 0.17]  # 60 calls, 6 a minute
    assert _row(plan, "price") == pytest.approx(_row(plan, "prompt tokens"), abs=1)
    wrong = _plan("judge", DEBATES, "-j", "zsl", "--price", "cheap", cwd=tmp_path)
    assert (wrong.code, "IN,OUT" in wrong.err) == (2, True)


def test_a_budget_limits_the_estimate(tmp_path: Path) -> None:
    plan = _plan("judge", DEBATES, "-j", "zsl", "--max-calls", "30", cwd=tmp_path)
    assert _row(plan, "calls") == [30, 30, 30]


@pytest.mark.parametrize(
    "command",
    [
        ("respond", DEBATES, "-i", "demo"),
        ("simulate", CLAIMS, "-i", "demo", "--turns", "1", "--user", "http://127.0.0.1:9/chat"),
        ("simulate", CLAIMS, "-i", "demo", "--both-sides", "--rounds", "1", "-d", "verbatim"),
        ("judge", DEBATES),
        ("judge", demo_file("contests.jsonl"), "-j", "grice"),
    ],
)
def test_a_run_without_a_model_has_no_calls(
    command: tuple[str | Path, ...], tmp_path: Path
) -> None:
    plan = _plan(*command, cwd=tmp_path)
    assert plan.code == 0
    assert "no model calls" in plan.out
    assert "80 % power" in plan.out


@pytest.mark.parametrize("debater", ["composed", *_long("sinai", "rdebater", "inspiredebate")])
def test_every_debater_is_estimated(debater: str, tmp_path: Path) -> None:
    plan = _plan("respond", DEBATES, "-i", "demo", "-d", debater, cwd=tmp_path)
    low, expected, high = _row(plan, "calls")
    assert 60 <= low <= expected <= high
    assert "fallback" not in plan.out


@pytest.mark.parametrize("panel", ["debgraph", *_long("debatrix", "inspirescore")])
def test_every_panel_is_estimated(panel: str, tmp_path: Path) -> None:
    plan = _plan("judge", demo_file("contests.jsonl"), "-j", panel, cwd=tmp_path)
    assert _row(plan, "calls")[0] >= 10
    assert "accuracy" in plan.out


def test_a_tournament_is_estimated_with_its_judge(tmp_path: Path) -> None:
    both = ("-d", "verbatim", "-d", "composed", "--rounds", "1", "-i", "demo")
    plan = json.loads(
        _plan("tournament", CLAIMS, *both, "-j", "debatrix", "--json", cwd=tmp_path).out
    )
    assert plan["estimate"]["debates"] == 20
    assert plan["estimate"]["turns"] == {"speeches": 40, "verdicts": 20}
    alone = json.loads(_plan("tournament", CLAIMS, *both, "--json", cwd=tmp_path).out)
    calls = [one["estimate"]["calls"]["expected"] for one in (plan, alone)]
    assert calls[0] > calls[1] >= 20
    assert 0 < plan["smallest_differences"]["share of wins, above .5"] < 0.5


def test_labels_say_what_each_maxim_can_show(tmp_path: Path) -> None:
    plan = _plan("judge", DEBATES, "--labels", LABELS, cwd=tmp_path)
    for maxim in ("quantity", "quality", "relation", "manner"):
        assert 0 < _row(plan, f"  F1 on {maxim}:")[0] < 0.5


def test_a_message_cannot_be_planned() -> None:
    refused = touche_rad("respond", "--say", "Zoos are bad.", "--dry-run")
    assert (refused.code, "--dry-run" in refused.err) == (2, True)


def test_a_run_shows_its_estimate_and_what_it_spent(server: Scripted, tmp_path: Path) -> None:
    filling(server)
    out = tmp_path / "e.jsonl"
    run = touche_rad("judge", DEBATES, "-j", "zsl", "-m", f"{server.url}#tiny", "-o", out)
    assert run.code == 0
    assert "estimated: 60 (60 to 60) calls" in run.err
    assert "spent: 60 calls, 900 tokens" in run.err
    status = json.loads(Path(f"{out}.status.json").read_text("utf-8"))
    assert status["estimate"]["calls"] == {"low": 60.0, "expected": 60.0, "high": 60.0}
    assert status["usage"]["total"]["calls"] == 60
