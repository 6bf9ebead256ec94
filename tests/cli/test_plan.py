"""`touche-rad plan`: what a very large run needs, from a sample and from a finished run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import touche_rad
from touche_rad.demo import demo_file


def _plan(*args: str | Path, cwd: Path | None = None) -> Any:
    ended = touche_rad("plan", *args, "--json", cwd=cwd)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_a_judge_is_scaled_as_its_dry_run_says(tmp_path: Path) -> None:
    source = demo_file("debates.jsonl")
    flags = ("-j", "zsl", "-O", "per=maxim")
    dry = json.loads(touche_rad("judge", source, *flags, "--dry-run", "--rate", "60", "--json").out)
    lines = source.read_text("utf-8").splitlines()
    planned = _plan(*flags, "--debates", str(len(lines)), "--debates", "1e6", cwd=tmp_path)
    small, large = planned["sizes"]
    for key in ("calls", "prompt_tokens", "completion_tokens"):
        assert small["estimate"][key] == dry["estimate"][key]
    assert large["calls"] == pytest.approx(small["calls"] * 1e6 / len(lines))
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_hours_cards_and_money_follow_the_formulas() -> None:
    planned = _plan(
        "-j",
        "zsl",
        "--debates",
        "1e6",
        "--endpoint-rate",
        "600",
        "--endpoints",
        "8",
        "--cards",
        "2",
        "--hours",
        "24",
        "--card-price",
        "2.5",
        "--price",
        "0.1,0.4",
    )
    (size,) = planned["sizes"]
    alone = size["calls"] / (60 * 600)
    assert size["hours"] == pytest.approx(alone / 8)
    assert size["card_hours"] == pytest.approx(2 * alone)
    assert size["endpoints_needed"] == -(-alone // 24)
    assert size["cards_needed"] == 2 * size["endpoints_needed"]
    tokens = size["prompt_tokens"] * 0.1 + size["answer_tokens"] * 0.4
    assert size["price"] == pytest.approx(2 * alone * 2.5 + tokens / 1e6)


def test_a_debater_and_its_judge_are_added() -> None:
    both = _plan("-d", "verbatim", "-j", "zsl", "--debates", "1000")["sizes"][0]
    judge = _plan("-j", "zsl", "--debates", "1000")["sizes"][0]
    assert both["calls"] == judge["calls"]
    assert both["estimate"]["turns"]["answers"] == judge["estimate"]["turns"]["verdicts"] / 4


def test_a_finished_run_replaces_the_estimate(tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join(demo_file("adversarial.jsonl").read_text().splitlines(True)[:3]))
    script = tmp_path / "yes.jsonl"
    script.write_text('{"answer": "yes"}\n')
    run = tmp_path / "evaluations.jsonl"
    judged = touche_rad(
        "judge", few, "-j", "zsl", "-O", "per=maxim", "-m", f"scripted:{script}", "-o", run
    )
    assert judged.code == 0, judged.err
    calls = json.loads(run.with_name(f"{run.name}.status.json").read_text())["usage"]["total"][
        "calls"
    ]
    planned = _plan("--run", run, "--debates", "3000")
    assert planned["sizes"][0]["calls"] == pytest.approx(1000 * calls)
    assert planned["endpoint_rate"] > 0
    free = tmp_path / "free.jsonl"
    assert touche_rad("judge", few, "-o", free).code == 0
    (size,) = _plan("--run", free, "--debates", "3000")["sizes"]
    assert size["calls"] == 0
    assert size["core_hours"] > 0


def test_the_table_and_the_next_step_are_shown() -> None:
    shown = touche_rad("plan", "-j", "zsl", "-O", "per=maxim", "--endpoint-rate", "3000")
    assert shown.code == 0, shown.err
    assert all(one in shown.out for one in ("10 k", "1 M", "100 M", "card hours", "index: 302 MB"))
    assert "-j zsl -O per=maxim -m 'URL#MODEL' -o evaluations.jsonl" in shown.err
    assert "hours and cards are unknown" in touche_rad("plan", "-j", "zsl").out


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ((), "give -d DEBATER, -j JUDGE or --run RUN"),
        (("-j", "zsl", "--debates", "many"), "such as 1e6"),
        (("--run", "no-such.jsonl"), "a finished run with its status"),
        (("--run", "/"), "a finished run with its status"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(args: tuple[str, ...], why: str) -> None:
    ended = touche_rad("plan", *args)
    assert ended.code in (1, 2)
    assert why in ended.err
    assert ended.err.count("\n") == 1
