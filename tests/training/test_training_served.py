"""The line that a training prints plays a debate, as it stands."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.demo import DEBATES
from tests.records import copy_lines, read_records
from tests.terminal import touche_rad_process as touche_rad
from tests.training.player import write_launcher
from touche_rad.models._vllm import PYTHON
from touche_rad.training.folder import TrainingFolder

pytestmark = pytest.mark.services


def test_the_printed_command_plays_the_trained_model(
    fine_tuned: TrainingFolder, tmp_path: Path, demo_index_path: Path
) -> None:
    """Its server stands in for vLLM; test_loop.py serves an adapter with a real one."""
    report = fine_tuned.finished()
    assert report is not None
    debates, run = Path("debates.jsonl"), Path("run.jsonl")
    copy_lines(DEBATES, debates)
    files = {"debates.jsonl": debates, "index": demo_index_path, "run.jsonl": run}
    words = [files.get(word, word) for word in shlex.split(report["serve"]["adapter"])[1:]]
    environment = {PYTHON: str(write_launcher(tmp_path / "player"))}
    touche_rad(*words, env=environment)
    assert all(record["content"] for record in read_records(run))
    calls = read_records("run.jsonl.trace.jsonl")
    assert any(record["answer"] for record in calls), "the model answered"
    assert {record["asked"]["model"] for record in calls} == {str(fine_tuned.adapter)}
