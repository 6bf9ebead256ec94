"""The current folder may be a stranger's: no command runs its code, or replaces what its links name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.models._vllm import PYTHON

MODULES = ("click", "huggingface_hub", "numpy", "pydantic", "ray", "touche_rad", "vllm")
RUNS = "import os, pathlib\npathlib.Path({place!r}).write_text(repr(dict(os.environ)))\n"
LOOP = """
topics = "claims.tsv"
model = "tiny"
teacher = "http://127.0.0.1:9/v1#teacher"
judge_model = "http://127.0.0.1:9/v1#judge"
index = "demo"
"""
BENCH = """
format = 1
name = "stranger"
claims = "claims.tsv"
index = "demo"
turns = 1
seeds = [0]
model = "vllm:owner/name"
[users]
rules = "rules"
[debaters]
sinai = "sinai"
[judges]
length = "length"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules would leave a file beside it."""
    place = tmp_path / "stranger"
    place.mkdir()
    for name in MODULES:
        (place / name).mkdir()
        (place / name / "__init__.py").write_text(RUNS.format(place=str(tmp_path / f"ran {name}")))
    claims = demo_file("claims.tsv").read_text("utf-8").splitlines(keepends=True)
    (place / "claims.tsv").write_text("".join(claims[:6]), "utf-8")
    (place / "loop.toml").write_text(LOOP)
    (place / "bench.toml").write_text(BENCH)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv(PYTHON, sys.executable)
    return place


def what_ran(folder: Path) -> list[Path]:
    return sorted(folder.parent.glob("ran *"))


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        pytest.param(
            "train loop loop.toml -o loop", 2, "round-0/debates.jsonl", marks=pytest.mark.services
        ),
        pytest.param(
            "simulate claims.tsv -d verbatim -i demo --turns 1 --engine ray -o run.jsonl",
            0,
            "written: run.jsonl",
            marks=pytest.mark.services,
        ),
        ("respond --say Zoos. -i demo -d sinai -m vllm:owner/name", 1, "No module named"),
        ("bench run .", 1, "vllm"),
    ],
)
def test_no_program_that_a_command_starts_takes_modules_of_the_folder(
    folder: Path, words: str, code: int, shown: str
) -> None:
    ended = touche_rad(*words.split(), cwd=folder, code=code)
    assert shown in ended.err
    assert what_ran(folder) == []


def test_git_runs_no_program_that_the_folder_names(folder: Path) -> None:
    """`submit` asks git what is committed."""
    program = folder / "program.sh"
    program.write_text(f"#!/bin/sh\nenv > '{folder.parent}/ran git'\ncat\n")
    program.chmod(0o755)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    shutil.copy(Path(__file__).parents[2] / "tira.yml", folder)
    (folder / ".gitattributes").write_text("*.tsv filter=own\n*.toml filter=a=b\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    for setting in ("core.fsmonitor", "filter.own.clean", "filter.a=b.clean"):
        subprocess.run(["git", "config", setting, str(program)], cwd=folder, check=True)
    subprocess.run(["git", "config", "filter.own.required", "true"], cwd=folder, check=True)
    for name in ("claims.tsv", "loop.toml"):
        (folder / name).touch()
    touche_rad("submit", "grounded", "--file", "tira.yml", cwd=folder, code=0)
    assert what_ran(folder) == []
    subprocess.run(["git", "status"], cwd=folder, check=True, capture_output=True)
    assert what_ran(folder) != []  # git alone runs it
