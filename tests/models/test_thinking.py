"""Models that think before they answer: thoughts reach no output, and doctor says what to do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.cases import with_cases
from tests.demo import DEBATES
from tests.models.scripted import Handler, Scripted, content, reply, says
from tests.records import copy_lines, read_status
from tests.terminal import touche_rad
from touche_rad.models import Message, Model
from touche_rad.models.endpoint import Address
from touche_rad.models.examples import PluginRequest, _Writer

THOUGHT = 'SECRET: is it "Quality": "no"?'
HARMONY = "<|channel|>analysis<|message|>"
ROOM = 1500
"""Tokens without which the thoughts of a scripted server do not end."""


def answer_to(body: dict[str, Any]) -> str:
    """An answer of the form that is asked for, which depends on the prompt only."""
    request = PluginRequest.of(body)
    writer = _Writer(request.prompt)
    if request.schema is not None:
        return json.dumps(writer.value(request.schema, request.schema))
    return "yes"


def tops(**chances: float) -> dict[str, Any]:
    return {
        "token": max(chances, key=lambda token: chances[token]),
        "top_logprobs": [{"token": token, "logprob": chance} for token, chance in chances.items()],
    }


def thinking(form: str) -> Callable[[Handler], None]:
    """Think in some form, and answer."""

    def act(handler: Handler) -> None:
        asked = handler.body
        answer = answer_to(asked)
        switched_off = asked.get("chat_template_kwargs") == {"enable_thinking": False}
        text = {
            "inline": f"<think>{THOUGHT}</think>\n\n{answer}",
            "with another name": f"<thinking>{THOUGHT}</thinking>{answer}",
            "in brackets": f"[THINK]{THOUGHT}[/THINK]{answer}",
            "opened by the template": f"{THOUGHT}\n</think>\n{answer}",
            "in a channel": f"<|channel>thought\n{THOUGHT}<channel|>{answer}",
            "in Harmony": f"{HARMONY}{THOUGHT}<|end|><|start|>assistant<|channel|>final "
            f"<|constrain|>json<|message|>{answer}<|return|>",
            "in Harmony without its marks": f"analysis{THOUGHT}assistantfinal{answer}",
            "without the schema": f"Sure:\n```json\n{answer}\n```" if answer != "yes" else answer,
        }.get(form, answer)
        body = reply(text)
        message = body["choices"][0]["message"]
        too_few = asked["max_tokens"] < ROOM
        if form in ("reasoning", "reasoning_content"):
            message[form] = THOUGHT
            body["usage"]["completion_tokens_details"] = {"reasoning_tokens": 3}
        thinks = form == "always" or (form == "unless switched off" and not switched_off)
        if form == "endless" or thinks:
            message["reasoning"] = THOUGHT
        if form == "scored by another token":
            body["choices"][0]["logprobs"] = {"content": [tops(The=-0.1, no=-3.0)]}
        if form.startswith("endless") or (too_few and (thinks or form == "cut inline")):
            begin = {
                "endless inline": "<think>",
                "cut inline": "<think>",
                "endless Harmony": HARMONY,
            }
            message["content"] = f"{begin[form]}{THOUGHT}" if form in begin else None
            body["choices"][0]["finish_reason"] = "length"
            body["usage"]["completion_tokens"] = asked["max_tokens"]
        says(body)(handler)

    return act


ANSWERING = [
    "inline",
    "with another name",
    "in brackets",
    "opened by the template",
    "in a channel",
    "in Harmony",
    "in Harmony without its marks",
    "reasoning",
    "reasoning_content",
    "cut inline",
    "always",
    "unless switched off",
    "without the schema",
    "scored by another token",
]


def run_on_demo(server: Scripted, command: str, out: Path, *more: str) -> Any:
    """Run a command on a debate of the demo with the model `server`."""
    source = out.with_name("one.jsonl")
    copy_lines(DEBATES, source)
    words = [*command.split(), source, "-i", "demo", "-m", f"{server.url}#tiny"]
    return touche_rad(*words, "-o", out, *more, code=None)


DEBATERS = ("composed", "sinai", "rdebater", "inspiredebate")
RESPOND = [pytest.param(f"respond -d {name}", marks=pytest.mark.long) for name in DEBATERS]


@pytest.mark.parametrize("command", ["judge -j zsl", "judge -j zsl -O per=maxim", *RESPOND])
def test_thoughts_change_no_output(server: Scripted, command: str) -> None:
    server.always = thinking("not at all")
    plain = Path("plain.jsonl")
    assert run_on_demo(server, command, plain).code == 0
    assert read_status(plain)["fallbacks"] == []
    for form in ANSWERING:
        server.asked.clear()
        server.always = thinking(form)
        out = Path(f"{form}.jsonl")
        run_on_demo(server, command, out)
        assert out.read_bytes() == plain.read_bytes(), form
        status = read_status(out)
        assert status["fallbacks"] == [], form
        assert "SECRET" not in out.read_text() + json.dumps(server.asked)
        if form == "reasoning":
            total = status["usage"]["total"]
            assert total["reasoning_tokens"] == 3 * total["calls"]
            assert "SECRET" in Path(f"{out}.trace.jsonl").read_text(), "the trace keeps thoughts"


@pytest.mark.parametrize("form", ["endless", "endless inline", "endless Harmony"])
def test_thoughts_that_use_up_the_tokens_are_named(server: Scripted, form: str) -> None:
    server.always = thinking(form)
    run = run_on_demo(server, "judge -j zsl", Path("out.jsonl"))
    assert run.code == 1
    assert "still thinking" in run.err
    assert "-O model.think=off" in run.err
    assert {body["max_tokens"] for body in server.asked} == {1024, 1024 + 2048}


def fields_sent(server: Scripted, model: str, *options: str) -> dict[str, Any]:
    """Return the last request of a command with options of the model."""
    words: list[str] = []
    for option in options:
        words += ["-O", f"model.{option}"]
    touche_rad("respond --say Hello. -m", f"{server.url}#{model}", *words)
    return server.asked[-1]


@with_cases(("model", "options", "template", "effort", "tokens"), "models/families.json")
def test_thinking_is_switched_by_the_family_of_the_model(
    server: Scripted, model: str, options: list[str], template: Any, effort: Any, tokens: int
) -> None:
    server.always = thinking("not at all")
    sent = fields_sent(server, model, *options)
    assert sent.get("chat_template_kwargs") == template
    assert sent.get("reasoning_effort") == effort
    assert sent["max_tokens"] == tokens


def test_any_field_of_the_request_can_be_set(server: Scripted) -> None:
    server.always = thinking("inline")
    sent = fields_sent(server, "tiny", "top_p=0.9", "stop=END")
    assert sent["top_p"] == 0.9
    assert sent["stop"] == "END"
    for option, hint in (("temprature=1", "temperature"), ("think=maybe", "off or auto or on")):
        touche_rad(
            "respond --say x -m",
            f"{server.url}#m",
            "-O",
            f"model.{option}",
            code=2,
            err=hint,
        )


def test_probabilities_are_those_of_the_answers_token(server: Scripted) -> None:
    def choice(content: str | None, *tokens: dict[str, Any], **more: Any) -> dict[str, float]:
        body = reply(content, logprobs={"content": list(tokens)})
        body["choices"][0]["message"] |= more
        server.always = says(body)

        async def ask() -> dict[str, float]:
            model = Model(Address(server.url, "tiny"))
            try:
                return await model.ask_choice([Message("user", "Is it?")], ("yes", "no"))
            finally:
                await model.close()

        return anyio.run(ask)

    thought = {"<think>": -0.1, "no": -9.0}
    answer = tops(yes=-0.2, no=-2.0)
    right = pytest.approx({"yes": 0.858, "no": 0.142}, abs=0.001)
    assert choice("yes", answer) == right
    assert choice("**yes**", tops(**{"**": -0.1, "no": -5.0}), answer, tops(**{"**": 0})) == right
    assert (
        choice("yes", tops(**thought), tops(no=-0.1), tops(**{"</think>": -0.1}), answer) == right
    )
    assert choice("yes", tops(**thought), tops(no=-0.1), answer, reasoning="no") == right
    assert choice("yes", tops(**thought), tops(Hm=-0.1), reasoning="no") == {"yes": 1, "no": 0}
    assert choice("yes", tops(The=-0.1, no=-3.0)) == {"yes": 1, "no": 0}


@with_cases(("form", "model", "ok", "hint"), "models/doctor_on_thoughts.json")
def test_doctor_names_the_thoughts_and_the_line_to_paste(
    server: Scripted, form: str, model: str, ok: bool, hint: str
) -> None:
    server.always = thinking(form)
    run = touche_rad("doctor --json -m", f"{server.url}#{model}", code=None)
    checks = {check["what"]: check for check in run.json}
    check = checks["model thinking"]
    assert check["ok"] == ok, check
    assert hint in f"{check['found']} {check['fix']}"
    schemas = checks["model schemas"]
    assert schemas["ok"] == (form != "endless")
    if form == "unless switched off" and not ok:
        assert "with thoughts" in schemas["found"]
    if form == "endless":
        assert "thoughts" in schemas["found"]
        assert "--reasoning-parser" in schemas["fix"]


def test_doctor_says_if_schemas_are_ignored_or_probabilities_are_of_another_token(
    server: Scripted,
) -> None:
    def act(handler: Handler) -> None:
        body = reply("yes", logprobs={"content": [tops(The=-0.1, yes=-3.0)]})
        says(body)(handler)

    server.always = act
    run = touche_rad("doctor --json -m", f"{server.url}#tiny", code=1)
    checks = {check["what"]: check for check in run.json}
    assert "ignores" in checks["model schemas"]["found"]
    assert checks["model schemas"]["optional"] is False
    assert "answer's token" in checks["model logprobs"]["found"]
    assert checks["judge zsl"]["found"] == "needs a model that passes: model schemas"
    server.always = content('{"relation": "no"}')
    server.script = [content("no")] * 2
    touche_rad("doctor -m", f"{server.url}#tiny")


@with_cases(("model", "config", "cards", "flags"), "models/vllm_flags.json")
def test_vllm_gets_what_fits_model_and_machine_and_its_command_is_printed(
    model: str,
    config: dict[str, Any],
    cards: list[str],
    flags: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(model).mkdir()
    Path(model, "config.json").write_text(json.dumps(config))
    smi = Path("nvidia-smi")
    rows = " ".join(map(repr, cards))
    smi.write_text(f"#!/bin/sh\nprintf '%s\\n' {rows}\n" if cards else "#!/bin/false\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TOUCHE_RAD_VLLM_PYTHON", "/bin/false")
    printed = touche_rad("doctor -m", f"vllm:{tmp_path / model}", code=1).err
    command = printed.partition("/bin/false -m vllm")[2].split()
    chosen = (
        "--reasoning-parser",
        "--max-model-len",
        "--tensor-parallel-size",
        "--gpu-memory-utilization",
    )
    pairs = [word.replace("=", " ") for word in command if word.startswith(chosen)]
    assert " ".join(pairs) == flags, printed
    options = ["-O", "vllm.port=1"]
    for key in chosen:
        options += ["-O", f"vllm{key.replace('--', '.')}=false"]
    printed = touche_rad("doctor -m", f"vllm:{tmp_path / model}", *options, code=1).err
    assert not any(key in printed for key in chosen)
    assert "--port=1 " in printed
