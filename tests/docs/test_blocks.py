"""Each code block of the documents runs as written, or has its syntax checked."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path
from unittest.mock import patch

import click
import pytest
import yaml

from tests.cli.test_examples import check_call
from tests.docs.blocks import NEEDS, PAGES, ROOT, Block, Reader, blocks_of
from touche_rad.errors import ToucheRadError
from touche_rad.plugins import registry

LANGUAGES = {"sh", "console", "setup", "python", "toml", "yaml", "json", "text"}
OBVIOUS = {
    "model": re.compile(r" -m |vllm:|model\(persona|train (sft|dpo|merge)"),
    "server": re.compile(r"elasticsearch:|--user http"),
    "person": re.compile(r"^(serve|chat|label)\b(?!.* --(summary|help))"),
    "extra": re.compile(r"--dense|-r dense|by=(nli|trained)"),
}
"""Calls that show what they need; an example model (`scripted:`) is part of the package."""
BLOCKS = [block for page in PAGES for block in blocks_of(page)]
RUNNING = sorted({block.page for block in BLOCKS if not block.needs and block.language != "text"})


def test_each_block_names_a_language_and_what_it_needs() -> None:
    wrong = []
    for block in BLOCKS:
        if block.language not in LANGUAGES:
            wrong.append(f"{block.place}: language {block.language or 'missing'}")
        if unknown := block.needs - NEEDS.keys():
            wrong.append(f"{block.place}: needs unknown {', '.join(unknown)}")
        if block.language == "text" and re.search(r"^(\$ |touche-rad )", block.body, re.MULTILINE):
            wrong.append(f"{block.place}: a command in a block of text")
        calls = [call.split("  #")[0] for call in block.calls()]
        calls = [call for call in calls if "scripted:" not in call]
        missing = {kind for kind, words in OBVIOUS.items() if any(map(words.search, calls))}
        if missing - block.needs:
            wrong.append(f"{block.place}: expected needs {', '.join(sorted(missing))}")
    assert not wrong, "\n".join(wrong)


def test_the_calls_in_the_marked_blocks_parse() -> None:
    calls = [(block, call) for block in BLOCKS if block.needs for call in block.calls()]
    assert len(calls) > 30
    wrong = []
    for block, call in calls:
        try:
            check_call(call)
        except (click.ClickException, ToucheRadError, ValueError, AssertionError) as error:
            wrong.append(f"{block.place}: touche-rad {call}: {error}")
    assert not wrong, "\n".join(wrong)


def test_the_syntax_of_each_block_is_valid() -> None:
    wrong = []
    for block in BLOCKS:
        try:
            _check_syntax(block)
        except (ValueError, SyntaxError, yaml.YAMLError) as error:
            wrong.append(f"{block.place}: {error}")
    assert not wrong, "\n".join(wrong)


def _check_syntax(block: Block) -> None:
    if block.language in ("sh", "console", "setup"):
        text = "\n".join(command for command, _ in block.commands())
        done = subprocess.run(
            ["bash", "-n"], input=text, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ValueError(done.stderr.strip())
    elif block.language == "python":
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        compile(block.body, block.place, "exec", flags=flags)
    elif block.language == "toml":
        tomllib.loads(block.body)
    elif block.language == "yaml":
        yaml.safe_load(block.body)
    elif block.language == "json":
        at = 0
        while block.body[at:].strip():  # one value, or one in each line
            at += json.JSONDecoder().raw_decode(block.body[at:].lstrip())[1]
            at += len(block.body[at:]) - len(block.body[at:].lstrip())


@pytest.mark.long
@pytest.mark.parametrize("page", RUNNING)
def test_the_blocks_of_a_page_run_as_written(page: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    with patch.dict(registry._decorated):
        for block in blocks_of(ROOT / page):
            if not block.needs:
                reader.follow(block)
