"""What a terminal shows of every command: help within its width, colours, plugins anywhere."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad.cli import touche_rad as program
from touche_rad.cli.commands import COMMANDS
from touche_rad.cli.program import Commands

PLUGIN = '''
from touche_rad.debate import Response
from touche_rad.plugins import debater

@debater("parrot")
class Parrot:
    """Repeats the user."""

    def __init__(self, options, services): ...

    def answer(self, debate):
        return Response(content=f"You say: {debate.last.utterance}")
'''


def commands_with_words() -> list[tuple[tuple[str, ...], click.Command]]:
    """Return every command and subcommand with its words."""
    commands: list[tuple[tuple[str, ...], click.Command]] = []
    assert isinstance(program, Commands)
    for name in COMMANDS:
        command = program.get_command(click.Context(program), name)
        assert command is not None
        commands.append(((name,), command))
        if isinstance(command, click.Group):
            for subname, subcommand in command.commands.items():
                commands.append(((name, subname), subcommand))
    return commands


def test_the_help_of_the_program_lists_the_commands() -> None:
    check_screen("help", touche_rad("--help"))


@pytest.mark.parametrize(("columns", "most"), [(64, 64), (80, 80), (200, 98)])
def test_no_help_is_wider_than_the_terminal_or_cut(columns: int, most: int) -> None:
    for words, _ in commands_with_words():
        shown = touche_rad(*words, "--help", env={"COLUMNS": str(columns)})
        for line in shown.out.splitlines():
            assert len(line) <= most, (words, line)
            assert not re.search(r"[a-z]\.\.\.$", line), line


def test_rare_options_have_a_help_of_their_own() -> None:
    usual = touche_rad("judge --help").out
    with_rare = touche_rad("judge --help-all").out
    for option in ("--shard", "--max-calls", "--config"):
        assert option not in usual
        assert option in with_rare
    assert "--help-all" in usual


def test_colours_follow_the_environment() -> None:
    plain = touche_rad("--help", env={"NO_COLOR": "1", "FORCE_COLOR": "1"})
    assert "\x1b" not in plain.out
    assert "\x1b" not in touche_rad("jugde", env={"NO_COLOR": "1", "FORCE_COLOR": "1"}, code=2).err
    assert "\x1b" not in touche_rad("jugde", code=2).err  # not a terminal
    forced = {"NO_COLOR": "", "FORCE_COLOR": "1"}
    touche_rad("jugde", env=forced, code=2, err="\x1b[31m\x1b[1merror:")


@pytest.mark.parametrize("place", ["before", "after"])
def test_plugins_and_settings_are_named_before_or_after_the_command(place: str) -> None:
    Path("parrot.py").write_text(PLUGIN)
    Path("mine.toml").write_text('debater = "parrot"\n')
    extra = ["--plugin", "parrot.py", "--config", "mine.toml"]
    call = ["respond", "--say", "Zoos are bad."]
    ended = touche_rad(*(extra + call if place == "before" else call + extra))
    assert ended.out.strip() == "You say: Zoos are bad."
