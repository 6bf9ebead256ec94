"""A key goes only to an address that the user chose, not to one that a found file names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.models.scripted import Scripted, serving
from tests.terminal import Ended, touche_rad
from touche_rad.cli.program import run
from touche_rad.credentials import refuse_stranger, servers_in, trusting
from touche_rad.errors import UserError

SAY = ("respond", "--say", "Zoos should be closed.", "-i", "demo", "-d", "grounded")
KEY = "sk-of-the-user-0123456789"


@pytest.fixture(name="stranger")
def _stranger() -> object:
    with serving() as server:
        yield server


def call_with_key(
    *words: str | Path, code: int | None = None, err: str = "", **environment: str
) -> Ended:
    key = {"OPENAI_API_KEY": KEY}
    return touche_rad(*words, code=code, err=err, env={**key, **environment})


def new_plan() -> Path:
    touche_rad("bench new bench -d grounded -j grounded -q")
    return Path("bench/bench.toml")


RERANK = "grounded(retriever=rerank(by=URL#m))"
PROFILE = f'description = "x"\n[settings]\nretriever = "{RERANK[19:-1]}"\n'


def test_a_settings_file_of_the_current_folder_is_not_used(stranger: Scripted) -> None:
    Path("touche-rad.toml").write_text(f'model = "{stranger.url}#m"\nindex = "none"\n')
    call_with_key(*SAY, err="--config touche-rad.toml")
    assert call_with_key(*SAY, "-q").err == ""
    assert stranger.asked == []
    named = call_with_key(*SAY, "--config", "touche-rad.toml", "-i", "demo")
    assert stranger.asked, named.err


@pytest.mark.parametrize(
    "words",
    [
        ("grounded(profile=./p.toml)",),
        ("grounded", "-O", "profile=p.toml"),
        ("grounded", "--say", "http://127.0.0.1 URL", "-O", "profile=p.toml"),
    ],
)
def test_a_profile_gets_no_key_for_its_addresses(
    stranger: Scripted, words: tuple[str, ...]
) -> None:
    Path("p.toml").write_text(PROFILE.replace("URL", stranger.url))
    ended = call_with_key(
        *SAY[:-1],
        *(word.replace("URL", stranger.url) for word in words),
        code=2,
        err="OPENAI_API_KEY",
    )
    assert KEY not in ended.err
    assert stranger.asked == []


@pytest.mark.parametrize("host", ["'x.evil.test", '"x', "(x", "good.example'.evil.test"])
def test_an_address_that_cannot_be_read_gets_no_key(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with trusting(servers_in(["-mhttp://good.example/v1#m", f"http://{host}"])):
        with pytest.raises(UserError):
            refuse_stranger("OPENAI_API_KEY", f"http://{host}/v1")
        for same_server in ("HTTP://Good.example:80/v2", "http://good.example:080"):
            refuse_stranger("OPENAI_API_KEY", same_server)


PICKLE = "cos\\nmkdir\\n(S'made'\\ntR."
HOSTILE = (
    "{{ cycler.__init__.__globals__.os.mkdir('made') }}",
    f"{{{{ (criteria.values()|first).parse_raw(\"{PICKLE}\", proto='pickle', allow_pickle=True) }}}}",
)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_folder_of_prompts_runs_no_code(tmp_path: Path, hostile: str) -> None:
    call_with_key("prompts", "fsl1", "-o", "p")
    for file in Path("p").iterdir():
        file.write_text(f"=== user\n{hostile}")
    assert call_with_key("prompts", "fsl1", "-O", "prompts=./p").code > 0
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_the_user_can_choose_a_file_the_flag_or_the_variable(stranger: Scripted) -> None:
    file = Path("touche-rad.toml")
    file.write_text(f'model = "{stranger.url}#m"\n')
    call_with_key(*SAY, "--config", file)
    call_with_key(*SAY, "-m", f"{stranger.url}#m")
    call_with_key(*SAY, OPENAI_BASE_URL=stranger.url, OPENAI_MODEL="m")
    assert len(stranger.asked) >= 3


@pytest.mark.services
@pytest.mark.parametrize(
    ("scheme", "error"), [("http", "TOUCHE_RAD_ES_PASSWORD"), ("x", "got 'elasticsearch:x:")]
)
def test_an_index_of_a_plan_gets_no_password(scheme: str, error: str) -> None:
    index = f"elasticsearch:{scheme}://stranger.example:9200/arguments"
    file = new_plan()
    file.write_text(re.sub("index = .*", f'index = "{index}"', file.read_text()))
    ended = call_with_key(
        "bench",
        "run",
        file.parent,
        TOUCHE_RAD_ES_PASSWORD="secret-of-mine",
        code=2,
        err=error,
    )
    assert "secret-of-mine" not in ended.err


def test_settings_and_commands_may_have_the_same_name() -> None:
    Path("t.toml").write_text('index = "demo"\n[respond]\nquiet = true\n')
    say = ("respond", "--say", "Zoos should be closed.", "-d", "verbatim", "--config", "t.toml")
    ended = call_with_key(*say)
    assert "[104." in ended.out, ended.err


def test_a_plan_gets_no_key_unless_it_is_trusted(stranger: Scripted) -> None:
    file = new_plan()
    text = file.read_text()
    for hostile in (
        f'model = "{stranger.url}#m"\n{text}',
        text.replace('"grounded"', f'"{RERANK}"'.replace("URL", stranger.url), 1),
    ):
        file.write_text(hostile)
        ended = call_with_key("bench", "run", file.parent, err="--trust")
        assert ended.code > 0, ended.err
    assert stranger.asked == []


def test_a_step_gives_keys_to_the_servers_of_its_command_only(
    stranger: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    words = [*SAY, "-m", f"{stranger.url}#m"]
    assert run(words, is_step=True, trusted=frozenset()) == 2
    assert stranger.asked == []
    run(words, is_step=True, trusted=servers_in([stranger.url]))
    assert stranger.asked
