"""The judge `jury`: the mean of its members, through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cases import with_cases
from tests.terminal import Ended, touche_rad
from touche_rad import files, plugins
from touche_rad.debate import Debate, Maxim, Response, Turn, Verdict
from touche_rad.plugins import Services, judge


@judge("reads")
class Reads:
    """Says the score that the response gives it: `a=0.7` for the judge `reads(key=a)`."""

    class Options(plugins.Options):
        key: str = "a"

    def __init__(self, options: Options, services: Services) -> None:
        self.key = options.key

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        assert debate.last.response is not None
        score = re.search(rf"\b{self.key}=([\d.]+)", debate.last.response.content)
        if score is None:
            raise ValueError(f"no score for {self.key}")
        return dict.fromkeys(Maxim, Verdict(score=float(score[1]), rationale="read"))


A = "reads(key=a)"
B = "reads(key=b)"


def debates(path: Path, *talks: list[str]) -> Path:
    with path.open("w") as stream:
        for number, talk in enumerate(talks):
            turns = tuple(
                Turn(utterance=f"Claim {number}.{at}", response=Response(content=text))
                for at, text in enumerate(talk)
            )
            stream.write(files.simulation_line(Debate(id=f"d{number}", turns=turns)) + "\n")
    return path


def run_jury(source: Path, *words: str, **options: str) -> Ended:
    for key, value in options.items():
        words += ("-O", f"{key}={value}")
    out = source.with_name("out.jsonl")
    return touche_rad("judge -j jury", source, "-o", out, *words, code=None)


def verdicts(source: Path) -> list[dict[str, Any]]:
    """The official records of Quantity, turn by turn."""
    lines = source.with_name("out.jsonl").read_text().splitlines()
    return [turn["Quantity"] for line in lines for turn in json.loads(line)["userTurnsEvaluations"]]


def test_equal_weights_are_the_mean_of_the_members_and_each_vote_is_kept() -> None:
    source = debates(Path("d.jsonl"), ["a=0.9 b=0.2", "a=0.1 b=0.2"])
    assert run_jury(source, of=f"{A},{B}").code == 0
    first, second = verdicts(source)
    assert first["score"] == pytest.approx(0.55)
    assert second["score"] == pytest.approx(0.15)
    assert first["votes"] == {A: 0.9, B: 0.2}
    assert first["explanation"] == f"the judges: {A} .90, {B} .20"


def test_a_member_that_fails_is_left_out_and_the_verdict_says_so() -> None:
    source = debates(Path("d.jsonl"), ["a=0.9", "nothing", "a=0.7 b=0.3"])
    ended = run_jury(source, of=f"{A},{B}")
    assert "ValueError: no score for " in ended.err
    alone, none, both = verdicts(source)
    assert alone["score"] == 0.9
    assert alone["votes"] == {A: 0.9, B: None}
    assert f"{B} gave no verdict" in alone["explanation"]
    assert none["score"] == 1.0
    assert "no judge of the jury gave a verdict" in none["explanation"]
    assert both["score"] == 0.5


@with_cases(("of", "problem"), "judges/wrong_members.tsv")
def test_wrong_options_are_refused_in_one_line(of: str, problem: str) -> None:
    ended = run_jury(debates(Path("d.jsonl"), ["a=1"]), of=of)
    assert ended.code == 2
    assert problem in " ".join(ended.err.split())
