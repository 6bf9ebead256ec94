"""The variables that docs/papers.md names for printed prompts are those of our prompt files."""

from __future__ import annotations

import re

from tests.docs.blocks import ROOT

PROMPTS = [p for name in ("touche_rad", "judges") for p in (ROOT / name).rglob("*.jinja")]


def test_each_variable_of_the_table_is_in_our_prompt() -> None:
    text = (ROOT / "docs" / "papers.md").read_text("utf-8").partition("## Use the printed")[2]
    rows = re.findall(r"^- ([^(]*?) \(((?:`\w+`[, ]*)+)\): (.*(?:\n  .*)*)", text, re.MULTILINE)
    assert len(rows) > 10
    for paper, names, variables in rows:
        stems = re.findall(r"`(\w+)`", names)
        files = [path for path in PROMPTS if path.stem in stems]
        assert {path.stem for path in files} == set(stems)
        prompts = "\n".join(path.read_text("utf-8") for path in files)
        for variable in re.findall(r"`([\w.]+)`", variables):
            assert re.search(rf"\b{re.escape(variable)}\b", prompts), (paper, variable)
