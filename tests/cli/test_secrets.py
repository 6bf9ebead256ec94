"""The key of the model's endpoint appears in no text that is passed through `redact`."""

from __future__ import annotations

import json

import pytest

from touche_rad import text

KEY = 'sk-"§"-7f3a'


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.parametrize(
    "form", [KEY, json.dumps(KEY)[1:-1], json.dumps(KEY, ensure_ascii=False)[1:-1]]
)
def test_every_form_of_the_key_is_redacted(form: str) -> None:
    assert text.redact(f"It is {form}.") == "It is ***."
    assert text.redact_data({"a": [form, 1, None]}) == {"a": ["***", 1, None]}


def test_a_line_of_json_remains_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "arguments-1")
    line = '{"arguments-1": [], "content": "my arguments-1"}'
    assert json.loads(text.redact_line(line)) == {"arguments-1": [], "content": "my ***"}
    assert text.redact_line("no json: arguments-1") == "no json: ***"


def test_a_plain_word_as_a_key_is_not_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "public")
    assert text.redact("The public pays.") == "The public pays."
