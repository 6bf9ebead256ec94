"""Each option that decides a result is part of a run's identity: with another value, none resumes.

Every option of a command that writes a run is in a table here, so that a new one is, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.demo import ARGUMENTS, CLAIMS, DEBATES
from tests.models.scripted import Scripted
from tests.records import copy_lines, read_cases, read_status
from tests.terminal import Ended, touche_rad
from touche_rad.cli.judge import judge_command
from touche_rad.cli.program import Command
from touche_rad.cli.respond import respond_command
from touche_rad.cli.simulate import simulate_command

PLUGINS: Final = """
from pathlib import Path

from touche_rad.contest import Outcome
from touche_rad.debate import Response, Verdict
from touche_rad.plugins import Options, debater, judge, panel

calls = []


def stop():
    calls.append(1)
    if len(calls) > 3 and not Path("ready").exists():
        raise RuntimeError("not ready")


class Base:
    uses = ("index", "model")
    criteria = ("any",)

    class Options(Options):
        k: int = 1

    def __init__(self, options, services):
        self.keys = services.criteria.keys


@debater("stops")
class Debater(Base):
    takes_sides = True

    def answer(self, debate):
        stop()
        return Response(content="No.")


@debater("waits")
class Other(Debater):
    pass


@judge("stops")
class Judge(Base):
    def judge(self, debate):
        stop()
        return {key: Verdict(score=1.0) for key in self.keys}


@judge("waits")
class OtherJudge(Judge):
    pass


@panel("halts")
class Panel(Base):
    def judge(self, contest):
        stop()
        return Outcome(winner="tie")


@panel("rests")
class OtherPanel(Panel):
    pass
"""
CRITERIA: Final = """
name = "manners"

[polite]
title = "Polite"
question = "Is the response polite?"
"""

COMMANDS: Final[Mapping[str, tuple[Command, str]]] = {
    "respond": (respond_command, "respond debates.jsonl -d stops"),
    "judge": (judge_command, "judge debates.jsonl -j stops --criteria own.toml"),
    "panel": (judge_command, "judge debates.jsonl -j halts"),
    "simulate": (simulate_command, "simulate claims.tsv -d stops --turns 2"),
    "both sides": (
        simulate_command,
        "simulate claims.tsv -d stops --both-sides --rounds 1 -O model.temperature=1",
    ),
}
"""Each kind of run: its command, and how it is called."""
INPUTS: Final = {"source", "sources", "claims"}
DECISIVE: Final[Mapping[str, Mapping[str, str]]] = read_cases("runs/decisive_options.json")
"""Another value of each option that decides the results of a kind of run."""
OF_ALL: Final = {
    "index": "-i index",
    "model": "-m URL#other",
    "seed": "--seed 7",
    "deadline": "--deadline 9",
}
SETTINGS: Final = (
    "-O model.temperature=0.5",
    "-O model.max_tokens=99",
    "-O model.seed=7",
    "-O model.think=on",
    "-O model.think_tokens=99",
    "-O model.top_p=0.5",
)
"""Other settings of the model."""
FREE: Final = read_cases("runs/free_options.json")
"""Options that decide no result, and why."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with all inputs, which is the current folder."""
    copy_lines(DEBATES, "debates.jsonl", 8)
    copy_lines(CLAIMS, "claims.tsv", 7)
    Path("plugins.py").write_text(PLUGINS)
    Path("own.toml").write_text(CRITERIA)
    lines = ARGUMENTS.read_text("utf-8").splitlines(keepends=True)
    Path("arguments.jsonl").write_text("".join(lines[:-1]), "utf-8")
    touche_rad("index arguments.jsonl -o index -q")
    return tmp_path


def call(words: str, server: Scripted) -> Ended:
    """Call a command; later options replace earlier ones."""
    always = f"--plugin plugins.py {words} --workers 1 --strict -o out.jsonl"
    return touche_rad(always.replace("URL", server.url), code=None)


@pytest.mark.parametrize("kind", COMMANDS)
def test_the_tables_have_every_option(kind: str) -> None:
    options = set(COMMANDS[kind][0].parameters)
    decisive = {option for row in (OF_ALL, *DECISIVE.values()) for option in row}
    assert options - decisive - FREE.keys() - INPUTS == set()
    assert {*OF_ALL, *DECISIVE[kind]} <= options


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_run_resumes_only_with_the_options_that_decided_its_results(
    kind: str, place: Path, server: Scripted
) -> None:
    begin = f"{COMMANDS[kind][1]} -i demo -m URL#tiny"
    assert call(begin, server).code == 1, "it stops at the first fallback"
    journal = place / "out.jsonl.part"
    before = journal.read_bytes()
    (place / "ready").touch()

    def is_refused(words: str) -> bool:
        return " is of another run: " in call(f"{begin} {words}", server).err

    other_words = [*OF_ALL.values(), *DECISIVE[kind].values(), *SETTINGS]
    resumed = [words for words in other_words if not is_refused(words)]
    assert resumed == [], "results of both values would be in one file"
    for path in [place / word for word in begin.split() if (place / word).is_file()]:
        text = path.read_text("utf-8")
        path.write_text(text.replace("the ", "a "), "utf-8")
        assert is_refused(""), f"{path} is another one"
        path.write_text(text, "utf-8")
    assert journal.read_bytes() == before
    ended = call(begin, server)
    assert ended.code == 0, ended.err
    assert read_status(place / "out.jsonl")["resumed"] > 0
