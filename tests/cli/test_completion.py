"""Shell completion, as a shell asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_help import PLUGIN
from tests.terminal import touche_rad


def _completed(line: str, shell: str = "bash", cwd: Path | None = None) -> list[str]:
    *_, last = words = line.split(" ")
    env = {
        "_TOUCHE_RAD_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line,
        "COMP_BREAKS": " \t=:",
        "COMP_CWORD": last if shell == "fish" else str(len(words) - 1),
    }
    ended = touche_rad(env=env, cwd=cwd)
    assert ended.err == ""
    return ended.out.splitlines()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("touche-rad jud", "plain,judge"),
        ("touche-rad respond --max-w", "plain,--max-words"),
        ("touche-rad respond -d verb", "plain,verbatim"),
        ("touche-rad judge x.jsonl -j debatrix", "plain,debatrix-grice"),
        ("touche-rad retrieve x -r ste", None),
        ("touche-rad retrieve x -r sta", "plain,stance"),
        ("touche-rad simulate --user ru", "plain,rules"),
        ("touche-rad list retr", "plain,retrievers"),
        ("touche-rad list sin", "plain,sinai"),
        ("touche-rad respond -o ", "file,"),
        ("touche-rad respond -i ", "dir,"),
        ("touche-rad respond ", "file,"),
    ],
)
def test_bash_is_offered_names_and_files(line: str, offered: str | None) -> None:
    found = _completed(line)
    assert (offered in found) if offered else not any(found)


def test_plugins_of_a_file_are_offered(tmp_path: Path) -> None:
    (tmp_path / "parrot.py").write_text(PLUGIN)
    for call in ("--plugin parrot.py respond -d par", "respond --plugin parrot.py -d par"):
        assert _completed(f"touche-rad {call}", cwd=tmp_path) == ["plain,parrot"]
    (tmp_path / "touche-rad.toml").write_text('plugins = ["parrot.py"]\n')
    assert _completed("touche-rad respond -d par", cwd=tmp_path) == [""]  # may be a stranger's code
    named = "touche-rad --config touche-rad.toml respond -d par"
    assert _completed(named, cwd=tmp_path) == ["plain,parrot"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_touche_rad(shell: str) -> None:
    ended = touche_rad("completion", shell)
    assert ended.code == 0, ended.err
    assert f"_TOUCHE_RAD_COMPLETE={shell}_complete" in ended.out
