"""A secret option is used and never told: not by files, traces, logs, caches or the terminal."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models import scripted
from tests.models.scripted import Scripted
from tests.terminal import touche_rad
from touche_rad import secrets as secret
from touche_rad.demo import demo_file

SECRET = 'hush-"§"-7f3a'
FORMS = (SECRET, json.dumps(SECRET)[1:-1], json.dumps(SECRET, ensure_ascii=False)[1:-1])
PLUGIN = '''
import logging
from pydantic import BaseModel, Field, SecretStr
from touche_rad.debate import Response, Verdict, Maxim
from touche_rad.models import Message
from touche_rad.plugins import Options, debater, judge, retriever

class Said(BaseModel):
    words: str

class Keyed(Options):
    api_key: SecretStr | None = Field(None, description="the key")
    loud: bool = False

@debater("keyed", needs=("index",))
class KeyedDebater:
    """Tells its key wherever it can."""
    uses = ("model",)
    Options = Keyed
    def __init__(self, options, services):
        assert options.api_key is None or options.api_key.get_secret_value().startswith("hush-")
        self.key = options.api_key.get_secret_value() if options.api_key else "none"
        self.services = services
    async def answer(self, debate):
        logging.getLogger("touche_rad").warning("the key is %s", self.key)
        if self.services.model is not None:
            await self.services.model.ask([Message("user", f"My key is {self.key}.")], Said)
        if len(debate.turns) > 1:
            raise ValueError(f"the key {self.key} was refused")
        return Response(content=f"Believe me: {self.key}.", arguments=())
    def explain(self, debate):
        return [{"rank": 1, "text": self.key, "features": {"key": self.key}}]

@judge("keyed-judge")
class KeyedJudge:
    """Tells its key as a reason."""
    Options = Keyed
    def __init__(self, options, services):
        self.key = options.api_key.get_secret_value()
    def judge(self, debate):
        return {one: Verdict(score=1.0, rationale=f"by {self.key}") for one in Maxim}

@retriever("keyed-retriever", needs=("index",))
class KeyedRetriever:
    """Searches with a key."""
    Options = Keyed
    def __init__(self, options, services):
        self.index = services.need_index("keyed-retriever")
    def search(self, query, k):
        return self.index.search("text", query, k)
'''
DEBATES, CLAIMS = demo_file("debates.jsonl"), demo_file("claims.tsv")


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted.serving() as made:
        yield made


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    place = tmp_path / "code" / "keyed.py"
    place.parent.mkdir()
    place.write_text(PLUGIN, "utf-8")
    return place


@pytest.fixture
def few(tmp_path: Path) -> Path:
    place = tmp_path / "code" / "few.jsonl"
    lines = DEBATES.read_text("utf-8").splitlines()[:2]
    place.parent.mkdir(exist_ok=True)
    place.write_text("\n".join(lines) + "\n", "utf-8")
    return place


def _told(folder: Path) -> str:
    """All that a run wrote, whatever kind of file it is."""
    return "".join(
        file.read_bytes().decode("utf-8", "replace")
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    )


def _keeps(text: str) -> bool:
    return not any(form in text for form in FORMS)


def test_a_run_tells_no_secret_in_any_of_its_files(
    plugin: Path, few: Path, server: Scripted, tmp_path: Path, demo_index_path: Path
) -> None:
    out = tmp_path / "out"
    ended = touche_rad(
        "--plugin", plugin, "respond", few, "-d", "keyed", "-o", f"api_key={SECRET}",
        "-o", "loud=true", "-i", demo_index_path, "-m", f"{server.url}#tiny",
        "--cache", out / "cache", "-o", out / "run.jsonl",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert any(SECRET in one["messages"][0]["content"] for one in server.asked)  # it was used
    names = {file.name for file in out.rglob("*")}
    assert {
        "run.jsonl",
        "run.jsonl.status.json",
        "run.jsonl.trace.jsonl",
        "answers.sqlite",
    } <= names
    told = _told(out)
    assert "keyed(loud=True)" in told
    assert "Believe me: ***." in told
    assert "the key *** was refused" in told
    assert "the key is ***" in ended.err
    assert _keeps(told)
    assert _keeps(ended.out + ended.err)


def test_an_interrupted_run_goes_on_with_a_new_key_and_its_journal_tells_none(
    plugin: Path, few: Path, tmp_path: Path, demo_index_path: Path
) -> None:
    run = tmp_path / "out" / "verdicts.jsonl"
    args = ("--plugin", plugin, "judge", few, "-j", "keyed-judge", "-o", run)
    assert touche_rad(*args, "-o", f"api_key={SECRET}").code == 0
    whole = run.read_bytes()
    assert b"by ***" in whole
    assert _keeps(_told(run.parent))
    assert touche_rad(*args, "-o", "api_key=hush-another-one").code == 0
    assert run.read_bytes() == whole


def test_a_secret_of_a_plugin_inside_another_is_kept_too(
    plugin: Path, few: Path, server: Scripted, tmp_path: Path, demo_index_path: Path
) -> None:
    run = tmp_path / "out" / "run.jsonl"
    ended = touche_rad(
        "--plugin", plugin, "respond", few, "-d", "best-of-n", "-i", demo_index_path,
        "-o", "of=keyed:api_key=hush-inside-another", "-o", run,
        "-m", f"{server.url}#tiny", "-o", "n=1",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    told = _told(run.parent) + ended.out + ended.err
    assert "best-of-n(n=1,of=keyed:api_key=***)" in told
    assert "hush-inside" not in told


def test_the_terminal_tells_no_secret(plugin: Path, tmp_path: Path, demo_index_path: Path) -> None:
    call = ("--plugin", plugin, "respond", "--say", "Zoos are bad.", "-d", "keyed")
    given = ("-i", demo_index_path, "-o", f"api_key={SECRET}")
    for more in (("--explain",), ("--explain", "--json"), ("--show-config",), ("-o", "louder=1")):
        ended = touche_rad(*call, *given, *more)
        assert ended.out + ended.err
        assert _keeps(ended.out + ended.err), more
    nested = touche_rad(*call, "--show-config", "-o", f"of=keyed:api-key={SECRET}")
    assert "of=keyed:api-key=***" in nested.out
    listed = touche_rad("--plugin", plugin, "list", "keyed", "--json")
    (row,) = json.loads(listed.out)
    assert {one["name"]: one["type"] for one in row["options"]}["api_key"] == "secret"
    assert touche_rad("--plugin", plugin, "list", "keyed").code == 0


def test_a_ranking_is_not_named_by_a_secret(
    plugin: Path, tmp_path: Path, demo_index_path: Path
) -> None:
    run = tmp_path / "out" / "run.txt"
    ended = touche_rad(
        "--plugin", plugin, "retrieve", CLAIMS, "-r", "keyed-retriever", "-i", demo_index_path,
        "-o", f"api_key={SECRET}", "-o", "loud=true", "-o", run, "-k", "2",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert run.read_text("utf-8").split("\n")[0].endswith(" keyed-retriever(loud=True)")
    assert _keeps(ended.out + ended.err)


def test_a_log_with_a_traceback_tells_no_secret(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret, "_known", set())
    secret.remember("a-long-secret", "short", None)
    try:
        raise ValueError("a-long-secret was refused")
    except ValueError as error:
        logging.getLogger("touche_rad").warning("failed by %s", "a-long-secret", exc_info=error)
    assert "failed by ***" in caplog.text
    assert "a-long-secret" not in caplog.text
    assert secret.without_secrets("short and a-long-secret") == "short and ***"


def test_a_secret_that_is_a_key_of_the_format_breaks_no_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(secret, "_known", {"arguments"})
    line = '{"arguments": [], "content": "my arguments"}'
    assert json.loads(secret.discreet_line(line)) == {"arguments": [], "content": "my ***"}
    assert secret.discreet_line("no json: arguments") == "no json: ***"


def test_a_mere_word_as_a_key_spoils_no_quotation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "public")
    assert secret.without_secrets("The public pays.") == "The public pays."
    monkeypatch.setenv("OPENAI_API_KEY", "token-abc123")
    assert secret.without_secrets("It is token-abc123.") == "It is ***."
