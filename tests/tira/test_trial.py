"""`submit --collection` tries a plugin step by step, and ends at the first step that fails."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.demo import ARGUMENTS as DEMO
from tests.models.scripted import content, serving
from tests.records import read_cases, write_lines
from tests.screens import check_screen
from tests.terminal import Ended, touche_rad
from tests.tira.places import FILE
from touche_rad.tira.submission import describe, load

LINES = DEMO.read_text("utf-8").splitlines(keepends=True)


@pytest.fixture(autouse=True)
def _place() -> None:
    """A repository with tira.yml, and a collection that is not the demo's."""
    Path("docker/collection").mkdir(parents=True)
    shutil.copy(FILE, ".")
    Path("ours.jsonl").write_text("".join(LINES[:60]), "utf-8")


def run_trial(line: str, collection: str | Path = "ours.jsonl", **checks: Any) -> Ended:
    return touche_rad(f"submit --collection {collection} {line}", **checks)


def test_the_screen_of_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)  # tira-cli is not installed
    ended = run_trial("-d verbatim -j length(longest=70)")
    check_screen("submit.trial", ended)
    assert len(Path("submission/evaluations.jsonl").read_text().splitlines()) == 3
    assert Path("tira.yml").read_bytes() == FILE.read_bytes()


FAILURES: dict[str, tuple[str, str, str]] = read_cases("tira/trials_that_fail.json")


@pytest.mark.parametrize("case", FAILURES)
def test_the_trial_ends_at_the_first_step_that_fails(case: str) -> None:
    line, name, expected = FAILURES[case]
    ended = run_trial(line, code=1)
    assert [line.startswith("failed") for line in ended.out.splitlines()].count(True) == 1
    failed = ended.out[ended.out.index("failed ") :]
    assert failed.split()[1] == name
    assert expected in " ".join(failed.split())
    assert "Run next" not in ended.out
    assert ended.err == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id": "1"}\n', "is of no known kind"),
        ("".join([*LINES[:3], '{"id": 3, "text": "x"}\n']), "ours.jsonl:4: id: expected text"),
    ],
)
def test_a_collection_that_cannot_be_read_is_reported(text: str, expected: str) -> None:
    Path("ours.jsonl").write_text(text)
    ended = run_trial("-d verbatim", code=1)
    assert expected in " ".join(ended.out.split())
    assert not Path("submission").exists()


def test_the_demo_collection_can_be_tried_but_not_handed_in() -> None:
    ended = run_trial("-d verbatim --upload", DEMO, out="not fit")
    assert "--dry-run" in ended.out
    touche_rad("submit grounded --collection docker/collection/arguments.jsonl")


def test_a_model_is_asked_and_its_address_is_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server, monkeypatch.context() as patched:
        server.always = content('{"number": 1}')
        local = run_trial(f"-d grounded -m {server.url}#tiny --save local", code=1)
        url = server.url.replace("127.0.0.1", "127.1")  # the same, but the check cannot know it
        line = f"-d grounded -m {url}#tiny --save mine"
        patched.delenv("OPENAI_API_KEY", raising=False)
        ended = run_trial(line)
        patched.setenv("OPENAI_API_KEY", "sk-of-mine")
        with_key = run_trial(line)
    assert "-m vllm:MODEL" in " ".join(local.out.split())
    assert "local" not in load(Path("tira.yml")).software
    assert "tiny" in " ".join(ended.out.split())
    assert f"OPENAI_BASE_URL={url} OPENAI_MODEL=tiny\n" in ended.out
    assert "export OPENAI_API_KEY=" in ended.out
    assert "export OPENAI_API_KEY=" not in with_key.out
    entry = load(Path("tira.yml")).find("mine")
    assert entry.user == "own"
    assert entry.cache == "CACHE_DIR"
    assert entry.collection == "docker/collection/ours.jsonl"


PLUGIN = """
from touche_rad.debate import Response
from touche_rad.plugins import Options, debater

@debater("brief")
class Brief:
    "Denies."
    Options = Options

    def __init__(self, options, services): ...

    def answer(self, debate):
        invented = {"id": "nowhere", "text": "Nobody wrote this."}
        return Response(content="There is no reason. " * 20, arguments=[invented])
"""


@pytest.fixture(name="plugin")
def _plugin() -> Path:
    """The file of a plugin in a git repository; the image does not have it yet."""
    path = Path("brief.py")
    path.write_text(PLUGIN)
    subprocess.run(["git", "init", "-q"], check=True)
    return path


def save_plugin() -> Ended:
    return run_trial("--plugin brief.py -d brief --save mine")


def test_the_image_gets_the_file_of_a_plugin_and_the_collection(plugin: Path) -> None:
    copy = Path("docker/plugins/brief.py")
    ended = save_plugin()
    assert "git init" not in ended.out
    assert copy.read_text() == PLUGIN
    collection = Path("docker/collection/ours.jsonl")
    assert collection.read_bytes() == Path("ours.jsonl").read_bytes()
    software = load(Path("tira.yml")).find("mine")
    assert software.command == "touche-rad simulate -d brief --plugin /opt/plugins/brief.py"
    plugin.write_text(PLUGIN.replace("Denies", "Argues"))
    shutil.copystat(plugin, copy)
    os.link(copy, "before")
    write_lines("ours.jsonl", Path("ours.jsonl").read_text().splitlines()[:-1])
    warned = touche_rad("submit mine").err
    assert f"{copy} is not brief.py; to renew it: cp brief.py {copy}\n" in warned
    assert "is not ours.jsonl" not in warned
    save_plugin()
    assert copy.read_text() == plugin.read_text()
    assert Path("before").read_text() == PLUGIN, "a kill leaves the old copy or the new one"


@pytest.mark.parametrize("name", ["a b.jsonl", "it's.jsonl", r"a\1.jsonl"])
def test_the_client_gets_a_collection_of_any_name(name: str) -> None:
    """It splits the options of the build at spaces."""
    ended = touche_rad("submit -d verbatim --collection", Path("ours.jsonl").rename(name))
    build = shlex.split(ended.out.splitlines()[-1])[-2]
    assert Path(build.split()[-1].partition("=")[2]).is_file()


def test_an_entry_whose_collection_or_plugin_is_missing_is_not_uploaded(plugin: Path) -> None:
    save_plugin()
    for name in ("docker/collection/ours.jsonl", "docker/plugins/brief.py"):
        content = Path(name).read_bytes()
        Path(name).unlink()
        refused = touche_rad("submit mine --upload", code=2, err=f"{name}: ")
        assert refused.out == ""
        Path(name).write_bytes(content)
    touche_rad("submit mine --upload")


def test_outputs_of_the_documents_are_ignored_but_no_plugin_to_submit() -> None:
    outputs = ["report.html", "repeated/status.json", "brief.py", "check_brief.py", "short.py"]
    words = ["git", "check-ignore", *outputs, "docker/plugins/brief.py"]
    assert subprocess.check_output(words, cwd=FILE.parent, text=True).split() == outputs


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("True", "--plugin brief.py ended with 1: 6 of 6 answers are fallbacks from grounded: "),
        ("False", "answer cut (6): turn 1: 80 words to 60"),
        ("False", "invented citation removed (6): turn 1: 'nowhere' is not in the index"),
        ("len(debate.turns) == 1", "fallback (3): "),
    ],
)
def test_the_failures_of_a_plugin_and_changes_of_its_answers_are_reported(
    when: str, expected: str
) -> None:
    Path("brief.py").write_text(PLUGIN.replace("return", f"assert not ({when}); return"))
    ended = run_trial("--plugin brief.py -d brief", code=None)
    assert expected in " ".join(ended.out.split())


def test_a_saved_entry_is_the_last_one_and_keeps_its_other_keys() -> None:
    file = Path("tira.yml")
    before = file.read_text()
    run_trial("-d verbatim --save mine")
    assert file.read_text().startswith(before)
    assert list(load(file).software) == [*load(FILE).software, "mine"]
    first = load(file).find("mine")
    assert first.command == "touche-rad simulate -d verbatim"
    file.write_text(f"{file.read_text()}    network: true\n")
    run_trial("-d verbatim --save mine")
    assert load(file).find("mine") == first.model_copy(update={"network": True})


def test_an_entry_can_be_saved_with_the_official_user() -> None:
    for option in ("", "--official"):
        ended = run_trial(f"-d verbatim --save mine {option}")
    assert "mine in tira.yml" in ended.out
    entry = load(Path("tira.yml")).find("mine")
    assert entry.user == "official"
    assert entry.network
    assert entry.command.endswith("-- -d verbatim")


def test_an_entry_with_an_anchor_that_others_use_is_not_replaced() -> None:
    refused = run_trial("-d verbatim --save grounded", code=1)
    assert "'grounded'" in " ".join(refused.out.split())
    assert Path("tira.yml").read_bytes() == FILE.read_bytes()


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("", {"forward": (), "cache": None}),
        ("http://host/v1#m", {"cache": "CACHE_DIR", "hf_models": ()}),
        ("vllm:owner/name", {"build": "--target gpu", "hf_models": ("owner/name",)}),
    ],
)
def test_the_entry_has_what_its_model_needs(model: str, fields: dict[str, Any]) -> None:
    software = describe(1, "sinai", model=model)
    assert {key: getattr(software, key) for key in fields} == fields
    assert ("-m vllm:owner/name" in software.command) == model.startswith("vllm:")
    assert describe(2, "grounded", model=model).user is None


@pytest.mark.parametrize(
    "words", ["-d verbatim", "--collection x", "grounded -d verbatim", "--save x"]
)
def test_a_trial_needs_a_collection_and_a_plugin(words: str) -> None:
    ended = touche_rad(f"submit {words}", code=2)
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1
