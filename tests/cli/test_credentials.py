"""A key goes only to an address that the user chose, not to one that a found file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.scripted import Scripted, serving
from tests.terminal import Ended, touche_rad
from touche_rad.demo import demo_file

SAY = ("respond", "--say", "Zoos should be closed.", "-i", "demo", "-d", "grounded")
KEY = "sk-of-the-user-0123456789"


@pytest.fixture(name="stranger")
def _stranger() -> object:
    with serving() as server:
        yield server


def call(folder: Path, *words: str | Path, **environment: str) -> Ended:
    return touche_rad(*words, cwd=folder, env={"OPENAI_API_KEY": KEY, **environment})


RERANK = "grounded(retriever=rerank(by=URL#m))"
PROFILE = f'description = "x"\n[settings]\nretriever = "{RERANK[19:-1]}"\n'


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        (SAY, 'model = "URL#m"'),
        (("doctor",), 'model = "URL#m"'),
        (SAY[:-2], f'debater = "{RERANK}"'),
        (SAY[:-2], 'debater = "grounded(profile=./p.toml)"'),
        (SAY, '[respond.options]\nretriever = "rerank(by=URL#m)"'),
        (
            ("tournament", demo_file("claims.tsv"), "-i", "demo", "-o", "cup"),
            f'[tournament]\ndebaters = ["verbatim", "{RERANK}"]',
        ),
        (
            ("simulate", demo_file("claims.tsv"), "-i", "demo", "-o", "run.jsonl", "--both-sides"),
            f'[simulate]\nagainst = "{RERANK}"',
        ),
    ],
)
def test_a_settings_file_of_the_current_folder_gets_no_key(
    stranger: Scripted, server: Scripted, tmp_path: Path, words: tuple[str, ...], setting: str
) -> None:
    for name, text in (("touche-rad.toml", f"{setting}\n"), ("p.toml", PROFILE)):
        (tmp_path / name).write_text(text.replace("URL", stranger.url))
    for environment in ({}, {"OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "m"}):
        ended = call(tmp_path, *words, **environment)
        told = " ".join(f"{ended.out} {ended.err}".split())
        assert ended.code > 0
        assert "would get your OPENAI_API_KEY" in told
        assert KEY not in told
    assert stranger.asked == []


@pytest.mark.parametrize(
    "setting", ['output = "mine.jsonl"', "replace = true", "is_open = true", 'host = "0.0.0.0"']
)
def test_a_settings_file_of_the_current_folder_replaces_and_opens_nothing(
    tmp_path: Path, setting: str
) -> None:
    file = tmp_path / "touche-rad.toml"
    for text in (f"[serve]\n{setting}\n", '[options]\n"vllm.trust-remote-code" = true\n'):
        file.write_text(text)
        ended = call(tmp_path, "list")
        assert (ended.code, ended.err.count("\n"), "--config" in ended.err) == (2, 1, True)


def test_a_folder_of_prompts_runs_no_code(stranger: Scripted, tmp_path: Path) -> None:
    assert call(tmp_path, "prompts", "sinai", "-o", "p").code == 0
    for file in (tmp_path / "p").iterdir():
        file.write_text("=== user\n{{ cycler.__init__.__globals__.os.mkdir('made') }}")
    call(tmp_path, *SAY[:-1], "sinai(prompts=./p)", "-m", f"{stranger.url}#m")
    assert [one.name for one in tmp_path.iterdir()] == ["p"]


def test_the_user_can_choose_the_file_the_flag_or_the_variable(
    stranger: Scripted, tmp_path: Path
) -> None:
    file = tmp_path / "touche-rad.toml"
    file.write_text(f'model = "{stranger.url}#m"\n')
    call(tmp_path, *SAY, "--config", file)
    call(tmp_path, *SAY, "-m", f"{stranger.url}#m")
    call(tmp_path, *SAY, OPENAI_BASE_URL=stranger.url, OPENAI_MODEL="m")
    assert len(stranger.asked) >= 3


@pytest.mark.services
@pytest.mark.parametrize("scheme", ["http", "x"])
def test_an_index_of_a_found_file_gets_no_password(tmp_path: Path, scheme: str) -> None:
    index = f"elasticsearch:{scheme}://stranger.example:9200/arguments"
    (tmp_path / "touche-rad.toml").write_text(f'index = "{index}"\n')
    ended = call(tmp_path, "respond", "--say", "Zoos.", TOUCHE_RAD_ES_PASSWORD="secret-of-mine")
    assert (ended.code, "your TOUCHE_RAD_ES_PASSWORD" in ended.err) == (2, True), ended.err
    assert "secret-of-mine" not in ended.err


def test_the_index_of_a_found_file_is_used(tmp_path: Path) -> None:
    (tmp_path / "touche-rad.toml").write_text('index = "demo"\n[respond]\nquiet = true\n')
    ended = call(tmp_path, "respond", "--say", "Zoos should be closed.", "-d", "verbatim")
    assert (ended.code, "101" in ended.out) == (0, True), ended.err


def test_a_plan_gets_no_key_unless_it_is_trusted(stranger: Scripted, tmp_path: Path) -> None:
    plan = tmp_path / "bench"
    assert touche_rad("bench", "new", plan, "-d", "grounded", "-j", "grounded", "-q").code == 0
    file = plan / "bench.toml"
    text = file.read_text()
    for hostile in (
        f'model = "{stranger.url}#m"\n{text}',
        text.replace('"grounded"', f'"{RERANK}"'.replace("URL", stranger.url), 1),
    ):
        file.write_text(hostile)
        ended = call(tmp_path, "bench", "run", plan)
        assert (ended.code > 0, "--trust" in ended.err) == (True, True), ended.err
    assert stranger.asked == []
