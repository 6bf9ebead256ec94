"""The examples in the help of each command: they parse, and those that need nothing else run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from tests import ROOT
from tests.cli.test_help import commands_with_words
from tests.terminal import touche_rad
from touche_rad.cli import touche_rad as program
from touche_rad.cli.options import PluginSpec
from touche_rad.cli.program import Command
from touche_rad.plugins import KINDS, registered

NEEDS = re.compile(
    r" -m |URL#|vllm:|elasticsearch:|--dense |OWNER/|nli-model"  # a model, a server or an extra
    r"|^(demo|serve|chat|submit|try|train (sft|preferences|dpo|merge|loop)|bench|merge)\b"
    r"|debateart|panelbench|RUN-FOLDER| (debates|labels|arguments|a|other)\.jsonl|documents\.trec|qrels|INDEX|\.\./"  # files
)
"""Examples that need more than the repository and the files of earlier examples."""


def _examples() -> Iterator[tuple[str, Command]]:
    for _, command in commands_with_words():
        if isinstance(command, Command):
            for example in command.examples:
                yield example, command


def parse_call(line: str) -> click.Context:
    """Parse a command line, as the command does; shell syntax after it is left out."""
    words = shlex.split(re.split(r" [|&>] ?|;|\)$| #", line)[0])
    context = click.Context(program)
    command: click.Command = program
    while isinstance(command, click.Group):
        while words[0] in ("--plugin", "--config"):
            words = words[2:]
        if words[0].startswith("-"):
            return context
        subcommand = command.get_command(context, words.pop(0))
        assert subcommand is not None, line
        command = subcommand
    return command.make_context(str(command.name), words, parent=context)


def check_call(line: str) -> None:
    """Parse the arguments of `touche-rad`, as the command does, and the options of its plugins."""
    context = parse_call(line)
    for spec in _specs(context.params.values()):
        plugins = [registered(kind)[spec.name] for kind in KINDS if spec.name in registered(kind)]
        if (
            "--plugin" in line
            or spec.name.isupper()
            or spec.name.startswith(("my-", "off", "brief."))
        ):
            continue
        assert plugins, line
        plugins[0].configure(spec.options)


def _specs(values: Iterable[Any]) -> Iterator[PluginSpec]:
    for value in values:
        if isinstance(value, PluginSpec):
            yield value
        elif isinstance(value, list | tuple):
            yield from _specs(value)


def test_each_command_has_examples_and_each_example_parses() -> None:
    for words, command in commands_with_words():
        if isinstance(command, Command):
            assert 1 <= len(set(command.examples)) <= 5, words
    for example, _ in _examples():
        check_call(example)


@pytest.mark.long
def test_the_examples_run_as_written() -> None:
    Path("touche_rad").symlink_to(ROOT / "touche_rad")
    Path("tira.yml").symlink_to(ROOT / "tira.yml")
    first = [
        "judge touche_rad/demo/debates.jsonl -o rj.jsonl",
        "judge touche_rad/demo/debates.jsonl -o mine.jsonl",
        "judge touche_rad/demo/debates.jsonl -j length -o length.jsonl",
        "tournament touche_rad/demo/claims.tsv -i demo -d grounded -d verbatim -o tournament",
    ]
    ran = 0
    for example in [*first, *(example for example, _ in _examples())]:
        if NEEDS.search(example):
            continue
        ended = touche_rad(*shlex.split(example), code=None)
        if "fault        1  not fit to upload: demo index" not in ended.out:
            assert ended.code == 0, (example, ended.err)
        ran += 1
    assert ran > 30
