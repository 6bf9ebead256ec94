"""The key of the model's endpoint appears in no text that is passed through `redact`."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from tests.cases import with_cases
from tests.demo import DEBATES
from tests.models import scripted
from tests.records import copy_lines
from tests.terminal import touche_rad
from touche_rad import text
from touche_rad.http import RequestPolicy

KEY = 'sk-/\'"§"\\+-7f3a ='
ESCAPE = re.compile("%..")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(KEY, ensure_ascii=False)[1:-1],
        repr(KEY)[1:-1],
        json.dumps(KEY)[1:-1].replace("/", r"\/"),
        quote(KEY),
        quote_plus(KEY),
        quote(KEY, safe=""),
        ESCAPE.sub(lambda match: match[0].lower(), quote(KEY, safe="/+")),
        b64encode(KEY.encode()).decode(),
        urlsafe_b64encode(KEY.encode()).decode().rstrip("="),
    ],
)
def test_every_form_of_the_key_is_redacted(form: str) -> None:
    assert text.redact(f"It is {form}.") == "It is ***."
    assert text.map_texts({"a": [form, 1, None]}, text.redact) == {"a": ["***", 1, None]}


def test_a_line_of_json_remains_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "arguments-1")
    line = '{"arguments-1": [], "content": "my arguments-1"}'
    assert json.loads(text.redact_line(line)) == {"arguments-1": [], "content": "my ***"}
    assert text.redact_line("no json: arguments-1") == "no json: ***"


@pytest.mark.parametrize("key", ["public", "ab1"])
def test_a_key_that_may_be_a_word_is_hidden_in_messages_and_kept_in_debates(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    words = f"{key}-, re{key}, {key}"
    assert text.redact(words) == f"***-, re{key}, ***"
    assert text.redact_line(json.dumps({"content": words})) == json.dumps({"content": words})


@with_cases(("words", "hidden"), "cli/texts_with_keys.json")
@pytest.mark.parametrize("name", ["TOUCHE_RAD_TOKEN", "TOUCHE_RAD_ES_PASSWORD"])
def test_other_keys_and_keys_in_addresses_are_hidden(
    name: str, words: str, hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "correct-horse-battery")
    assert text.redact(words) == hidden


REPLY = {"number": 1, "quantity": "", "reason": "KEY", "answer": "KEY"}


@pytest.mark.parametrize("key", ["sk-Planted-7f3a9", "PlantedAlphabeticKey"])
@pytest.mark.parametrize("cut", [False, True])
def test_one_planted_key_reaches_no_output(
    key: str, cut: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The model's server answers with the key; every file and line of the run is searched."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setattr("touche_rad.models.sending.RETRIES", RequestPolicy())
    reply = json.dumps(scripted.reply(json.dumps(REPLY).replace("KEY", key)))
    with scripted.serving() as server:
        content = key.rjust(61, ".") if cut else reply  # a message quotes 60 characters
        server.always = lambda handler: handler.say(200, content.encode())
        url = f"{server.url}?api_key={key}#tiny"
        out, cache = Path("run.jsonl"), Path("cache")
        debates = "debates.jsonl"
        copy_lines(DEBATES, debates)
        model = ("-i", "demo", "-d", "composed", "-m", url, "--cache", cache)
        ended = touche_rad("respond", debates, "-o", out, *model, code=None)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("cache" in path.parts for path in written) or cut
    for path in written:
        assert key[:-1].encode() not in path.read_bytes(), path.name
    assert key[:-1] not in ended.out + ended.err
