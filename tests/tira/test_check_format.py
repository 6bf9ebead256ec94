"""The format check for evaluations, as TIRA's client calls it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import touche_rad
from touche_rad.demo import demo_file

pytestmark = pytest.mark.services  # it needs TIRA's client

GOOD = {
    "Quantity": {"score": 1},
    "Quality": {"score": 0.5},
    "Relation": {"score": 0.0},
    "Manner": {"score": 1, "explanation": "short"},
}


@pytest.fixture(name="checked")
def _checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    from tira import check_format as client

    from touche_rad.tira.check_format import FORMAT, GriceEvaluationsFormat

    monkeypatch.setitem(client.FORMAT_TO_CHECK, FORMAT, GriceEvaluationsFormat)
    monkeypatch.setattr(client, "SUPPORTED_FORMATS", {*client.SUPPORTED_FORMATS, FORMAT})

    def check(*lines: str, **configuration: Any) -> tuple[str, str]:
        if lines:
            (tmp_path / "evaluations.jsonl").write_text("\n".join(lines) + "\n")
        level, message = client.check_format(tmp_path, FORMAT, configuration)
        return level.name, message

    return check


def line(*turns: Any) -> str:
    return json.dumps({"simulation": {}, "userTurnsEvaluations": list(turns)})


def test_evaluations_of_ours_are_valid(checked: Any, tmp_path: Path) -> None:
    out = tmp_path / "evaluations.jsonl"
    assert touche_rad("judge", demo_file("debates.jsonl"), "-j", "length", "-o", out).code == 0
    assert checked(minimum_lines=20) == (
        "OK",
        "The evaluations have a score for each maxim of each turn.",
    )
    level, message = checked(minimum_lines=21)
    assert (level, "only 20 lines" in message) == ("ERROR", True)
    with gzip.open(f"{out}.gz", "wt") as stream:
        stream.write(out.read_text())
    assert checked()[0] == "ERROR"  # two files
    out.unlink()
    assert checked()[0] == "OK"


def test_whole_numbers_extra_keys_and_debates_without_turns_are_valid(checked: Any) -> None:
    assert checked(line(GOOD, GOOD), line())[0] == "OK"


BROKEN = {
    "no turns": ('{"simulation": {}}', "userTurnsEvaluations"),
    "turns are no list": ('{"userTurnsEvaluations": 3}', "must be a list"),
    "not an object": ("[]", "JSON object"),
    "null": ("null", "JSON object"),
    "not JSON": ("{", "could not be parsed"),
    "a lost debate": ("{}", "userTurnsEvaluations"),
    "a missing maxim": (line({**GOOD, "Manner": None}), "userTurnsEvaluations[0].Manner"),
    "a turn of null": (line(GOOD, None), "userTurnsEvaluations[1].Quantity"),
    "a text": (line({**GOOD, "Quality": {"score": "0.9"}}), "got '0.9'"),
    "no score": (line({**GOOD, "Quality": {"explanation": "?"}}), "got None"),
    "true": (line({**GOOD, "Quality": {"score": True}}), "got True"),
    "above 1": (line({**GOOD, "Quality": {"score": 7.5}}), "got 7.5"),
    "NaN": (line({**GOOD, "Quality": {"score": float("nan")}}), "got nan"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_the_official_scorer_refuses_is_an_error_that_says_where(
    case: str, checked: Any
) -> None:
    broken, expected = BROKEN[case]
    level, message = checked(line(GOOD), broken)
    assert level == "ERROR"
    assert expected in message


def test_no_file_is_an_error(checked: Any) -> None:
    assert checked()[0] == "ERROR"
