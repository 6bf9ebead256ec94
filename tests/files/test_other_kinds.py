"""What one kind of file says of a debate goes into another kind, and comes back from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given

from tests.files.test_round_trips import ANNOTATED, MANY
from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.files import BadLines
from touche_rad.files.records import whole_characters

TURN = {"utterance": "U", "systemResponse": {"utterance": "S", "response": {"arguments": []}}}
SIMULATION = {"simulation": {"userTurns": [TURN]}}


def _read(path: Path, line: str) -> Debate:
    path.write_text(line + "\n", "utf-8")
    (debate,) = files.read_debates(path)
    return debate


@MANY
@given(value=ANNOTATED)
def test_annotated_debates_come_back_with_all_that_nobody_has_a_name_for(
    tmp_path: Path, value: Any
) -> None:
    official = files.simulation_line(_read(tmp_path / "a", json.dumps(value)))
    back = whole_characters(json.loads(files.annotated_line(_read(tmp_path / "s", official))))
    value = whole_characters(value)
    messages = zip(back.pop("simulated_debate"), value.pop("simulated_debate"), strict=True)
    for found, given_ in messages:
        if found["role"] == "assistant":
            given_["arguments"] = given_.get("arguments") or []
        assert found == given_
    empty = {"claim": "", "description": ""}
    assert {**back, "id": ""} == {**empty, **value, "id": ""}


def test_verdicts_stay_with_the_evaluation(tmp_path: Path) -> None:
    judged = {**SIMULATION, "note": 1, "userTurnsEvaluations": [], "configuration": {"x": 1}}
    debate = _read(tmp_path / "e", json.dumps(judged))
    assert set(json.loads(files.annotated_line(debate))) == {
        "id",
        "claim",
        "description",
        "note",
        "simulated_debate",
    }


def test_a_run_that_lost_its_first_thousand_debates_is_known_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("{}\n" * 1000 + json.dumps(SIMULATION) + "\n")
    bad = BadLines(skip=True)
    assert len(list(files.read_debates(tmp_path / "s", bad))) == 1
    assert bad.count == 1000
