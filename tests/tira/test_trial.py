"""`submit --collection` tries a plugin step by step, and ends at the first step that fails."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.models.scripted import content, serving
from tests.records import read_cases
from tests.screens import check_screen
from tests.terminal import Ended, touche_rad
from tests.tira.places import FILE
from touche_rad.demo import demo_file
from touche_rad.tira.submission import describe, load

DEMO = demo_file("arguments.jsonl")
LINES = DEMO.read_text("utf-8").splitlines(keepends=True)


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    """A repository with tira.yml, and a collection that is not the demo's."""
    Path("docker/collection").mkdir(parents=True)
    shutil.copy(FILE, tmp_path)
    Path("ours.jsonl").write_text("".join(LINES[:60]), "utf-8")
    return tmp_path


def run_trial(
    place: Path, *words: str | Path, collection: str = "ours.jsonl", **checks: Any
) -> Ended:
    return touche_rad("submit", "--collection", collection, *words, **checks, cwd=place)


def test_the_screen_of_a_trial(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)  # tira-cli is not installed
    ended = run_trial(place, "-d", "verbatim", "-j", "length(longest=70)")
    check_screen("submit.trial", ended, place)
    assert len((place / "submission" / "evaluations.jsonl").read_text().splitlines()) == 3
    assert (place / "tira.yml").read_bytes() == FILE.read_bytes()


FAILURES: dict[str, tuple[list[str], str, str]] = read_cases("tira/trials_that_fail.json")


@pytest.mark.parametrize("case", FAILURES)
def test_the_trial_ends_at_the_first_step_that_fails(place: Path, case: str) -> None:
    words, name, expected = FAILURES[case]
    ended = run_trial(place, *words, code=1)
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
def test_a_collection_that_cannot_be_read_is_reported(
    place: Path, text: str, expected: str
) -> None:
    (place / "ours.jsonl").write_text(text)
    ended = run_trial(place, "-d", "verbatim", code=1)
    assert expected in " ".join(ended.out.split())
    assert not (place / "submission").exists()


def test_the_demo_collection_can_be_tried_but_not_handed_in(place: Path) -> None:
    ended = run_trial(place, "-d", "verbatim", "--upload", collection=str(DEMO), out="not fit")
    assert "--dry-run" in ended.out
    touche_rad("submit", "grounded", "--collection", "docker/collection/arguments.jsonl", cwd=place)


def test_a_model_is_asked_and_its_address_is_forwarded(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server, monkeypatch.context() as patched:
        server.always = content('{"number": 1}')
        words = ("-d", "grounded", "-m", f"{server.url}#tiny", "--save", "local")
        local = run_trial(place, *words, code=1)
        url = server.url.replace("127.0.0.1", "127.1")  # the same, but the check cannot know it
        words = ("-d", "grounded", "-m", f"{url}#tiny", "--save", "mine")
        patched.delenv("OPENAI_API_KEY", raising=False)
        ended = run_trial(place, *words)
        patched.setenv("OPENAI_API_KEY", "sk-of-mine")
        with_key = run_trial(place, *words)
    assert "-m vllm:MODEL" in " ".join(local.out.split())
    assert "local" not in load(place / "tira.yml").software
    assert "tiny" in " ".join(ended.out.split())
    assert f"OPENAI_BASE_URL={url} OPENAI_MODEL=tiny\n" in ended.out
    assert "export OPENAI_API_KEY=" in ended.out
    assert "export OPENAI_API_KEY=" not in with_key.out
    entry = load(place / "tira.yml").find("mine")
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
def _plugin(place: Path) -> Path:
    """The file of a plugin in a git repository; the image does not have it yet."""
    path = place / "brief.py"
    path.write_text(PLUGIN)
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    return path


def save_plugin(place: Path) -> Ended:
    call = ("--plugin", "brief.py", "-d", "brief", "--save", "mine")
    return run_trial(place, *call)


def test_the_image_gets_the_file_of_a_plugin_and_the_collection(place: Path, plugin: Path) -> None:
    copy = place / "docker" / "plugins" / "brief.py"
    ended = save_plugin(place)
    assert "git init" not in ended.out
    assert copy.read_text() == PLUGIN
    collection = place / "docker" / "collection" / "ours.jsonl"
    assert collection.read_bytes() == (place / "ours.jsonl").read_bytes()
    software = load(place / "tira.yml").find("mine")
    assert software.command == "touche-rad simulate -d brief --plugin /opt/plugins/brief.py"
    plugin.write_text(f"{PLUGIN}# changed\n")
    save_plugin(place)
    assert copy.read_text() == plugin.read_text()


def test_an_entry_whose_collection_or_plugin_is_missing_is_not_uploaded(
    place: Path, plugin: Path
) -> None:
    save_plugin(place)
    for name in ("docker/collection/ours.jsonl", "docker/plugins/brief.py"):
        content = (place / name).read_bytes()
        (place / name).unlink()
        refused = touche_rad("submit", "mine", "--upload", cwd=place, code=2, err=f"{name}: ")
        assert refused.out == ""
        (place / name).write_bytes(content)
    touche_rad("submit", "mine", "--upload", cwd=place)


def test_outputs_of_the_documents_are_ignored_but_no_plugin_to_submit() -> None:
    outputs = ["report.html", "repeated/status.json", "brief.py", "check_brief.py", "short.py"]
    words = ["git", "check-ignore", *outputs, "docker/plugins/brief.py"]
    assert subprocess.check_output(words, cwd=FILE.parent, text=True).split() == outputs


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("True", "--plugin brief.py ended with 1: 6 of 6 answers are fallbacks from grounded: "),
        ("False", "answer cut: 6; the first: 80 words to 60"),
        ("False", "invented citation removed: 6; the first: 'nowhere' is not in the index"),
        ("len(debate.turns) == 1", "fallback (3): "),
    ],
)
def test_the_failures_of_a_plugin_and_changes_of_its_answers_are_reported(
    place: Path, when: str, expected: str
) -> None:
    (place / "brief.py").write_text(PLUGIN.replace("return", f"assert not ({when}); return"))
    ended = run_trial(place, "--plugin", "brief.py", "-d", "brief", code=None)
    assert expected in " ".join(ended.out.split())


def test_a_saved_entry_is_the_last_one_and_comments_stay(place: Path) -> None:
    file = place / "tira.yml"
    before = file.read_text()
    run_trial(place, "-d", "verbatim", "--save", "mine")
    assert file.read_text().startswith(before)
    assert list(load(file).software) == [*load(FILE).software, "mine"]
    assert load(file).find("mine").command == "touche-rad simulate -d verbatim"


def test_an_entry_that_is_saved_again_keeps_its_other_keys(place: Path) -> None:
    file = place / "tira.yml"
    run_trial(place, "-d", "verbatim", "--save", "mine")
    first = load(file).find("mine")
    file.write_text(f"{file.read_text()}    network: true\n")
    run_trial(place, "-d", "verbatim", "--save", "mine")
    assert load(file).find("mine") == first.model_copy(update={"network": True})


def test_an_entry_can_be_saved_with_the_official_user(place: Path) -> None:
    for options in ((), ("--official",)):
        ended = run_trial(place, "-d", "verbatim", "--save", "mine", *options)
    assert "mine in tira.yml" in ended.out
    entry = load(place / "tira.yml").find("mine")
    assert entry.user == "official"
    assert entry.network
    assert entry.command.endswith("-- -d verbatim")


def test_an_entry_with_an_anchor_that_others_use_is_not_replaced(place: Path) -> None:
    refused = run_trial(place, "-d", "verbatim", "--save", "grounded", code=1)
    assert "'grounded'" in " ".join(refused.out.split())
    assert (place / "tira.yml").read_bytes() == FILE.read_bytes()


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
def test_a_trial_needs_a_collection_and_a_plugin(place: Path, words: str) -> None:
    ended = touche_rad("submit", *words.split(), cwd=place, code=2)
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1
