"""A tiny random model learns on the CPU: the loss falls, preferences are learnt, kills change nothing."""

from __future__ import annotations

import io
import json
import math
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.cases import with_cases
from tests.records import read_json, read_records
from tests.refusals import expect_error
from tests.terminal import touche_rad
from tests.training.makers import DPO, SFT, chats, log_likelihood, preferences
from touche_rad.debaters.inspiredebate.training.model import (
    AdapterRecipe,
    load_model,
    load_tokenizer,
)
from touche_rad.files.outputs import sha256_of
from touche_rad.plugins import trainer
from touche_rad.training.folder import TrainingFolder

pytestmark = pytest.mark.services


def report(folder: TrainingFolder) -> dict[str, Any]:
    finished = folder.finished()
    assert finished is not None
    return finished


def history(folder: TrainingFolder) -> list[dict[str, Any]]:
    """What the trainer logged, step by step."""
    rows: list[dict[str, Any]] = read_json(folder.state)["log_history"]
    return rows


def weights(folder: TrainingFolder) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(folder.adapter / "adapter_model.safetensors")


def killed(
    method: str, source: Path, out: Path, tiny: Path, settings: dict[str, Any], at: int
) -> None:
    """Train in a process of its own that dies after a step, beyond its first checkpoint."""
    files = map(str, (source.absolute(), out.absolute()))
    recipe = json.dumps({"base": str(tiny), **settings})
    dying = [sys.executable, "-m", "tests.training.dying", str(at), method]
    command = [*dying, *files, recipe]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert list(out.glob("checkpoints/*/trainer_state.json"))


def test_the_loss_falls_on_what_was_held_out(fine_tuned: TrainingFolder) -> None:
    finished = report(fine_tuned)
    assert finished["learnt"] == 8
    assert finished["held_out"] == 2
    assert finished["steps"] == 12
    assert finished["measured"]["loss"]["after"] < finished["measured"]["loss"]["before"] - 0.5
    assert finished["loss"]["last"] < finished["loss"]["first"] - 0.5


def test_only_the_answer_is_learnt(fine_tuned: TrainingFolder, tiny: Path) -> None:
    """The trainer's first loss is that of the answers' tokens, and of no other."""
    chats = [record["messages"] for record in read_records(fine_tuned.data)]
    model, tokenizer = load_model(AdapterRecipe(base=str(tiny))), load_tokenizer(str(tiny))
    likely, tokens = zip(*(log_likelihood(model, tokenizer, chat) for chat in chats), strict=True)
    first = next(row["loss"] for row in history(fine_tuned) if "loss" in row)
    assert first == pytest.approx(-sum(likely) / sum(tokens), abs=0.05)


def test_the_card_tells_data_by_digest_and_how_to_play(fine_tuned: TrainingFolder) -> None:
    card = fine_tuned.card.read_text()
    assert all(sha256_of(path) in card for path in (fine_tuned.data, fine_tuned.held_out))
    assert f"-m vllm:{fine_tuned.adapter}" in card


def test_preferences_are_learnt_for_motions_that_were_held_out(preferring: TrainingFolder) -> None:
    """Which word is preferred hangs on the prompt: a model that ignores it is right half the time."""
    finished = report(preferring)
    assert finished["held_out"] == 6
    assert finished["measured"]["rewards/margins"]["before"] == 0
    assert finished["measured"]["rewards/margins"]["after"] > 0
    assert finished["measured"]["rewards/accuracies"]["after"] > 0.75
    assert finished["loss"]["last"] < finished["loss"]["first"]


def test_the_loss_is_that_of_equation_5(preferring: TrainingFolder, tiny: Path) -> None:
    """Computed by hand from four likelihoods a pair: policy and reference, better and worse."""
    tokenizer, recipe = load_tokenizer(str(tiny)), AdapterRecipe(base=str(tiny))
    policy, reference = load_model(recipe, str(preferring.adapter)), load_model(recipe)
    losses = []
    for pair in read_records(preferring.held_out):
        chosen, rejected = (
            log_likelihood(policy, tokenizer, pair["prompt"] + pair[end])[0]
            - log_likelihood(reference, tokenizer, pair["prompt"] + pair[end])[0]
            for end in ("chosen", "rejected")
        )
        losses.append(math.log1p(math.exp(-0.1 * (chosen - rejected))))
    loss = report(preferring)["measured"]["loss"]["after"]
    assert loss == pytest.approx(sum(losses) / len(losses), abs=2e-3)


def test_preferences_go_on_from_sft_and_begin_at_it_as_their_reference(
    fine_tuned: TrainingFolder,
) -> None:
    """Eq. 5: both ratios are 1 where training begins, so the first loss is log 2, also after SFT."""
    source, out = preferences(Path("pairs.jsonl")), Path("dpo")
    done = touche_rad(
        *("train", "dpo", source, "--from", fine_tuned.root, "-o", out, "--beta", "1"),
        *("--rate", "2e-3", "--batch", "8", "--epochs", "2", "--held-out", "0"),
    )
    printed = done.json
    assert printed["loss"]["first"] == pytest.approx(math.log(2), abs=1e-4)
    assert printed["recipe"]["base"] == report(fine_tuned)["recipe"]["base"]
    assert printed["serve"]["adapter"] in done.err, "the line to play with stands at the end"
    before, after = weights(fine_tuned), weights(TrainingFolder(out))
    assert before.keys() == after.keys(), "one adapter on the same base, and no reference beside it"
    assert any((before[name] != after[name]).any() for name in before)
    assert not (out / "adapter" / "ref").exists()


@pytest.mark.parametrize(("method", "at"), [("sft", 5), ("dpo", 17)])
def test_a_killed_training_goes_on_to_the_same_model(
    method: str, at: int, request: pytest.FixtureRequest, tiny: Path
) -> None:
    undisturbed = request.getfixturevalue("fine_tuned" if method == "sft" else "preferring")
    settings = SFT if method == "sft" else DPO
    make = chats if method == "sft" else preferences
    source = make(Path("chats.jsonl" if method == "sft" else "pairs.jsonl"))
    out = Path("out")
    killed(method, source, out, tiny, settings, at)
    torn = out / "checkpoints" / "checkpoint-99"
    torn.mkdir()
    data = TrainingFolder(out).data
    data.write_text(data.read_text().replace("a", "e"))
    recipe = {"base": str(tiny), **settings}
    resumed = trainer(method)([source], out, recipe=recipe)
    assert resumed["resumed"]
    assert not torn.exists()
    before, after = weights(undisturbed), weights(TrainingFolder(out))
    assert before.keys() == after.keys()
    for name in before:
        assert (before[name] - after[name]).abs().max() < 1e-6, name
    losses = [
        [row["loss"] for row in history(folder) if "loss" in row]
        for folder in (undisturbed, TrainingFolder(out))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3, abs=1e-6)
    assert resumed["measured"].keys() == report(undisturbed)["measured"].keys()
    for name, values in report(undisturbed)["measured"].items():
        assert resumed["measured"][name] == pytest.approx(values, abs=1e-3), name


@with_cases(("data", "wrong", "message"), "training/wrong_commands.json")
def test_a_wrong_command_is_told_in_a_line_and_does_not_stand_in_the_way_of_the_right_one(
    data: str, wrong: dict[str, str], message: str, tiny: Path
) -> None:
    source = chats(Path("data.jsonl"))
    if data:
        source.write_text(data)
    recipe = {"base": str(tiny), **wrong}
    with expect_error(message) as caught:
        trainer("sft")([source], Path("out"), recipe=recipe)
    assert "\n" not in str(caught.value)
    assert not TrainingFolder(Path("out")).finished()


def test_code_of_a_model_is_not_run_whatever_is_typed(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny, "code")
    config = read_json(Path("code/config.json"))
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}}
    Path("code/config.json").write_text(json.dumps(config))
    Path("code/mine.py").write_text("open('ran', 'w')\nclass Config: pass\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 9))
    with expect_error("code: cannot be read"):
        trainer("sft")([chats(Path("chats.jsonl"))], Path("out"), recipe={"base": "code"})
    assert not Path("ran").exists()


def test_a_training_has_a_folder_of_its_own(tiny: Path, tmp_path: Path) -> None:
    source = chats(Path("chats.jsonl"))
    out = Path("out")
    recipe = {"base": str(tiny), **SFT}
    with TrainingFolder(out).exclusive(), expect_error("another process"):
        trainer("sft")([source], out, recipe=recipe)
    with expect_error("contains other files"):
        trainer("sft")([source], tmp_path, recipe=recipe)
    (out / "data").symlink_to(tmp_path)
    with expect_error("data is a link"):
        trainer("sft")([source], out, recipe=recipe)


THINKS = "{% if enable_thinking is not false %}<think>{% else %}<think></think>{% endif %}"


@pytest.mark.parametrize(
    ("prompt", "answer", "fits"),
    [("<think>\n", "", False), (THINKS, "<think></think>", True), (THINKS, "", False)],
)
def test_a_template_that_ends_in_thoughts_is_switched_off_or_refused(
    prompt: str, answer: str, fits: bool, tiny: Path
) -> None:
    base, out = Path(shutil.copytree(tiny, "thinks")), Path("out")
    template = base / "chat_template.jinja"
    begins = template.read_text().replace("<s>assistant\n", f"<s>assistant\n{prompt}")
    role = "{{ message['role'] }}\n"
    answers = "{% if message['role'] == 'assistant' %}" + answer + "{% endif %}"
    template.write_text(begins.replace(role, role + answers))
    recipe = {"base": str(base), **SFT, "epochs": 1}
    with nullcontext() if fits else expect_error("<think>"):
        trainer("sft")([chats(Path("c.jsonl"))], out, recipe=recipe)
        tokenizer = load_tokenizer(str(TrainingFolder(out).adapter))
        question = [{"role": "user", "content": "Well?"}]
        prompt = tokenizer.apply_chat_template(question, tokenize=False, add_generation_prompt=True)
        assert prompt.endswith("<s>assistant\n<think></think>")
        assert "model.think=off" in report(TrainingFolder(out))["serve"]["adapter"]


def test_what_is_too_long_is_left_out_and_never_cut(tiny: Path) -> None:
    recipe = {"base": str(tiny), **SFT, "longest": 64}
    with expect_error("8 records"):
        trainer("sft")([chats(Path("chats.jsonl"))], Path("out"), recipe=recipe)
