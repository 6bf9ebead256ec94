"""Shell completion, as a shell asks for it."""

from __future__ import annotations

import pytest

from tests.terminal import touche_rad


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("touche-rad jud", "plain,judge"),
        ("touche-rad respond --max-w", "plain,--max-words"),
        ("touche-rad respond -o ", "file,"),
    ],
)
def test_bash_is_offered_commands_options_and_files(line: str, offered: str) -> None:
    env = {
        "_TOUCHE_RAD_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    assert offered in touche_rad(env=env).out.splitlines()
