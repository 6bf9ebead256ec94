"""Models that think before they answer: thoughts reach no output, and the cause of a cut is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.models.scripted import Handler, Scripted, reply, says
from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.models.examples import example

THOUGHT = "SECRET: the user wants a verdict."


def thinking(form: str) -> Any:
    """Answer with an example of the schema, after or beside thoughts."""

    def act(handler: Handler) -> None:
        wanted = handler.body.get("response_format", {}).get("json_schema", {})
        answer = json.dumps(example(wanted["schema"])) if wanted else "yes"
        text = {
            "inline": f"<think>{THOUGHT}</think>\n\n{answer}",
            "with another name": f"<thinking>{THOUGHT}</thinking>{answer}",
            "opened by the template": f"{THOUGHT}\n</think>\n{answer}",
            "cut inline": f"<think>{THOUGHT}",
        }.get(form, answer)
        body = reply(text)
        message, cut = body["choices"][0]["message"], form.startswith("cut")
        if form in ("reasoning", "reasoning_content"):
            message[form] = THOUGHT
        if form == "cut":
            message |= {"content": None, "reasoning_content": THOUGHT}
        if cut:
            body["choices"][0]["finish_reason"] = "length"
            body["usage"]["completion_tokens"] = handler.body["max_tokens"]
        says(body)(handler)

    return act


def judged(server: Scripted, *more: str) -> Any:
    Path("one.jsonl").write_text(demo_file("debates.jsonl").read_text().splitlines()[0] + "\n")
    model = f"{server.url}#tiny"
    return touche_rad("judge", "one.jsonl", "-j", "zsl", "-m", model, "-o", "out.jsonl", *more)


@pytest.mark.parametrize(
    "form",
    ["inline", "with another name", "opened by the template", "reasoning", "reasoning_content"],
)
def test_thoughts_are_no_part_of_an_answer(
    server: Scripted, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = thinking(form)
    run = judged(server)
    assert run.code == 0, run.err
    assert json.loads(Path("out.jsonl.status.json").read_text())["fallbacks"] == []
    assert "SECRET" not in Path("out.jsonl").read_text()
    assert all("SECRET" not in json.dumps(body) for body in server.asked)


@pytest.mark.parametrize("form", ["cut", "cut inline"])
def test_thoughts_that_use_up_the_tokens_are_named(
    server: Scripted, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = thinking(form)
    run = judged(server)
    assert run.code == 1
    assert "still thinking" in run.err
    assert "enable_thinking" in run.err


def test_any_field_of_the_request_can_be_set(
    server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = thinking("inline")
    options = ('chat_template_kwargs={"enable_thinking": false}', "top_p=0.9", "stop=END")
    run = judged(server, *(word for one in options for word in ("-O", f"model.{one}")))
    assert run.code == 0, run.err
    sent = server.asked[-1]
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    assert (sent["top_p"], sent["stop"]) == (0.9, "END")
    wrong = judged(server, "--replace", "-O", "model.temprature=1")
    assert (wrong.code, "temperature" in wrong.err) == (2, True)


@pytest.mark.parametrize("form", ["cut", "cut inline"])
def test_doctor_names_the_thoughts_and_not_the_schemas(server: Scripted, form: str) -> None:
    server.always = thinking(form)
    run = touche_rad("doctor", "-m", f"{server.url}#tiny", "--json")
    checks = {one["what"]: one for one in json.loads(run.out)}
    assert not checks["model thinking"]["ok"]
    assert "enable_thinking" in checks["model schemas"]["fix"]
