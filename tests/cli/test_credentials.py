"""A key goes only to an address that the user chose, not to one that a found file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.scripted import Scripted, serving
from tests.terminal import Ended, touche_rad

SAY = ("respond", "--say", "Zoos should be closed.", "-i", "demo", "-d", "grounded")
KEY = "sk-of-the-user-0123456789"


@pytest.fixture(name="stranger")
def _stranger() -> object:
    with serving() as server:
        yield server


def call(folder: Path, *words: str | Path, **environment: str) -> Ended:
    return touche_rad(*words, cwd=folder, env={"OPENAI_API_KEY": KEY, **environment})


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        (SAY, 'model = "URL#m"'),
        (("doctor",), 'model = "URL#m"'),
        (SAY[:-2], 'debater = "grounded(retriever=rerank(by=URL#m))"'),
        (SAY, '[respond.options]\nretriever = "rerank(by=URL#m)"'),
    ],
)
def test_a_settings_file_of_the_current_folder_gets_no_key(
    stranger: Scripted, tmp_path: Path, words: tuple[str, ...], setting: str
) -> None:
    (tmp_path / "touche-rad.toml").write_text(setting.replace("URL", stranger.url) + "\n")
    for environment in ({}, {"OPENAI_BASE_URL": "https://mine.example/v1", "OPENAI_MODEL": "m"}):
        ended = call(tmp_path, *words, **environment)
        assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
        assert "OPENAI_API_KEY" in ended.err
        assert KEY not in ended.err
    assert stranger.asked == []


def test_the_user_can_choose_the_file_the_flag_or_the_variable(
    stranger: Scripted, tmp_path: Path
) -> None:
    file = tmp_path / "touche-rad.toml"
    file.write_text(f'model = "{stranger.url}#m"\n')
    call(tmp_path, *SAY, "--config", file)
    call(tmp_path, *SAY, "-m", f"{stranger.url}#m")
    call(tmp_path, *SAY, OPENAI_BASE_URL=stranger.url, OPENAI_MODEL="m")
    assert len(stranger.asked) >= 3


def test_an_index_of_a_found_file_gets_no_password(tmp_path: Path) -> None:
    (tmp_path / "touche-rad.toml").write_text(
        'index = "elasticsearch:http://stranger.example/arguments"\n'
    )
    ended = call(tmp_path, "respond", "--say", "Zoos.", TOUCHE_RAD_ES_PASSWORD="secret-of-mine")
    assert (ended.code, "stranger.example" in ended.err) == (2, True)
    assert "secret-of-mine" not in ended.err


def test_a_plan_gets_no_key_unless_it_is_trusted(stranger: Scripted, tmp_path: Path) -> None:
    plan = tmp_path / "bench"
    assert touche_rad("bench", "new", plan, "-d", "grounded", "-j", "grounded", "-q").code == 0
    file = plan / "bench.toml"
    file.write_text(f'model = "{stranger.url}#m"\n' + file.read_text())
    ended = call(tmp_path, "bench", "run", plan)
    assert (ended.code, "--trust" in ended.err) == (2, True), ended.err
    assert stranger.asked == []
