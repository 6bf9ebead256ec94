"""`--dry-run`: the calls and tokens of a run, and nothing is written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.demo import CLAIMS, CONTESTS, DEBATES
from tests.models.by_schema import filling
from tests.models.scripted import Scripted
from tests.records import copy_lines
from tests.screens import check_screen
from tests.terminal import touche_rad


def _long(*names: str) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.long) for name in names]


def dry_run(line: str) -> str:
    """Call a command with --dry-run, which writes nothing, and return what it prints."""
    before = os.listdir()
    ended = touche_rad(f"{line} --dry-run")
    assert os.listdir() == before, ended.err
    return ended.out


def estimated_calls(text: str) -> int:
    (line,) = (line for line in text.splitlines() if line.startswith("calls: "))
    return int(line.removeprefix("calls: ").replace(",", ""))


@pytest.mark.parametrize(("judge", "calls"), [("zsl", 12), ("zsl(profile=paper)", 48)])
def test_the_calls_of_a_judge_are_those_of_its_run(
    judge: str, calls: int, server: Scripted
) -> None:
    filling(server)
    copy_lines(DEBATES, "four.jsonl", 4)
    plan = dry_run(f"judge four.jsonl -j {judge}")
    assert estimated_calls(plan) == calls
    assert "4 debates" in plan
    assert server.asked == []
    touche_rad(f"judge four.jsonl -o e.jsonl -j {judge} -m {server.url}#tiny")
    assert len(server.asked) == calls


@pytest.mark.parametrize(
    "line",
    [
        f"respond {DEBATES} -i demo",
        f"simulate {CLAIMS} -i demo --turns 1 --user http://127.0.0.1:9/chat",
        f"simulate {CLAIMS} -i demo --both-sides --rounds 1 -d verbatim",
        f"judge {DEBATES}",
        f"judge {CONTESTS} -j grice",
    ],
)
def test_a_run_without_a_model_has_no_calls(line: str) -> None:
    assert "no model calls" in dry_run(line)


@pytest.mark.parametrize("debater", ["composed", *_long("sinai", "rdebater", "inspiredebate")])
def test_every_debater_is_estimated(debater: str) -> None:
    plan = dry_run(f"respond {DEBATES} -i demo -d {debater}")
    assert estimated_calls(plan) >= 60
    assert "fallback" not in plan


@pytest.mark.parametrize("panel", ["debgraph", *_long("debatrix", "inspirescore")])
def test_every_panel_is_estimated(panel: str) -> None:
    plan = dry_run(f"judge {CONTESTS} -j {panel}")
    assert estimated_calls(plan) >= 10


@pytest.mark.parametrize("option", ["--dry-run", "-o out.jsonl", "--shard 1/2"])
def test_an_option_of_runs_is_refused_for_one_message(option: str, tmp_path: Path) -> None:
    line = f'respond --say "Zoos are bad." {option}'
    touche_rad(line, code=2, err=option.split()[0])
    assert not list(tmp_path.iterdir())


def test_the_screen_of_an_estimate() -> None:
    check_screen("dry-run", touche_rad("judge -j zsl --dry-run", DEBATES))
