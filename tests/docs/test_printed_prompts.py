"""The variables that docs/papers.md names for printed prompts are those of our prompt files."""

from __future__ import annotations

import re
from pathlib import Path

from tests.demo import DEBATES
from tests.docs.blocks import ROOT
from tests.models.by_schema import filling, prompt_of
from tests.models.scripted import serving
from tests.terminal import touche_rad

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


def test_the_variables_of_sinai_are_texts() -> None:
    folder = Path("prompts")
    touche_rad("prompts sinai -O profile=paper -o", folder)
    names = {"shortlist": "found", "selection": "shortlists", "response": "selected"}
    for file, variable in names.items():
        with (folder / f"{file}.jinja").open("a") as stream:
            stream.write(f"LITERALLY {{{{ {variable} }}}}\n")
    with serving() as server:
        filling(server)
        words = ("respond", DEBATES, "-i", "demo", "-d", "sinai", "--last-only")
        options = ("-O", "profile=paper", "-O", f"prompts={folder}", "-m", f"{server.url}#tiny")
        touche_rad(*words, *options, "-o", "run.jsonl")
        prompts = [prompt_of(body) for body in server.asked]
    literal = [prompt.partition("LITERALLY ")[2] for prompt in prompts if "LITERALLY" in prompt]
    assert any(text.startswith("{'TEXT': ['1. ") for text in literal)
    assert not [text for text in literal if "Argument(" in text]
