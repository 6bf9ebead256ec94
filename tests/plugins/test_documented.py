"""The examples of docs/plugins.md run as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.terminal import touche_rad
from touche_rad.demo import demo_file

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
CALLS = {
    "debater": ("respond", "debates.jsonl", "-d", "first-hit"),
    "judge": ("judge", "debates.jsonl", "-j", "brief"),
    "retriever": ("retrieve", "claims.tsv", "-r", "two-fields"),
    "panel": ("judge", "contests.jsonl", "-j", "last-word"),
}


@pytest.mark.parametrize("kind", CALLS)
def test_the_example_of_a_kind_works(tmp_path: Path, kind: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (code,) = [block for block in blocks if f"@{kind}(" in block]
    plugin, out = tmp_path / "example.py", tmp_path / "out"
    plugin.write_text(code)
    verb, source, *name = CALLS[kind]
    call = (verb, demo_file(source), *name, "-i", "demo", "-o", out)
    ended = touche_rad("--plugin", plugin, *call)
    assert ended.code == 0, ended.err
    assert "warning" not in ended.err
    assert out.read_text("utf-8").count("\n") >= 6
