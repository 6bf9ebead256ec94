"""What a plugin has changed is written with its new words; all else stands as it stood."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.files.test_round_trips import MANY, WORDS, messages, record
from touche_rad import files
from touche_rad.debate import Debate, Maxim, Response, Verdict
from touche_rad.files.records import whole_characters

ARGUMENT = {"id": "1.2", "text": "t", "score": 0.5, "note": {"a": [None]}}
VALUE: dict[str, Any] = {
    "simulation": {
        "configuration": {
            "topic": {"description": "C", "lang": "en"},
            "user": {"class": "X", "model": "base-user"},
            "maxTurns": 2,
        },
        "userTurns": [
            {
                "utterance": "U1",
                "mood": "calm",
                "systemResponse": {
                    "utterance": "S1",
                    "milliseconds": 12.5,
                    "response": {"content": "S1 too", "arguments": [ARGUMENT], "model": "m"},
                },
            },
            {"utterance": "U2", "mood": "angry", "systemResponse": None},
        ],
        "milliseconds": 13,
    },
    "x": [1],
}
JUDGED: dict[str, Any] = {
    **VALUE,
    "configuration": {"evaluators": {}},
    "userTurnsEvaluations": [
        {
            "Quality": {"score": 1, "explanation": "good", "milliseconds": 3},
            "Manner": {"score": 0, "note": "n"},
            "milliseconds": 9,
            "by": "them",
        }
    ],
    "overallEvaluations": {"milliseconds": 1},
    "millisecondsEvaluation": 10,
}


def one(path: Path, value: Any) -> Debate:
    path.write_text(json.dumps(value) + "\n")
    (debate,) = files.read_debates(path)
    return debate


def written(debate: Debate) -> Any:
    return json.loads(files.simulation_line(debate))


def changed(**by_place: Any) -> Any:
    value = json.loads(json.dumps(VALUE))
    for place, new in by_place.items():
        *steps, last = [int(step) if step.isdigit() else step for step in place.split("__")]
        inner = value
        for step in steps:
            inner = inner[step]
        inner[last] = new
    return value


SAID = {"utterance": "S2", "response": {"content": "S2", "arguments": []}}


def test_another_answer_takes_the_whole_place_of_the_old(tmp_path: Path) -> None:
    read = one(tmp_path / "f", VALUE)
    debate = read.view(0).with_response(Response(content="S2")).with_utterance("U2")
    now = written(debate)["simulation"]["userTurns"]
    assert now == [
        {"utterance": "U1", "mood": "calm", "systemResponse": SAID},
        {"utterance": "U2", "systemResponse": None},
    ]


def test_a_view_is_written_as_far_as_it_goes(tmp_path: Path) -> None:
    read = one(tmp_path / "f", VALUE)
    turns = VALUE["simulation"]["userTurns"]
    assert written(read.view(0)) == changed(simulation__userTurns=turns[:1])
    asked = {key: turns[0][key] for key in ("utterance", "mood")}
    assert written(read.before_response(0)) == changed(simulation__userTurns=[asked])


@pytest.mark.parametrize(
    ("update", "place"),
    [
        ({"claim": "D"}, {"simulation__configuration__topic__description": "D"}),
        ({"user": "V"}, {"simulation__configuration__user__model": "V"}),
        ({"id": "d7"}, {"id": "d7"}),
        ({"description": "long"}, {"description": "long"}),
    ],
)
def test_each_of_the_heads_is_written_where_it_belongs(
    tmp_path: Path, update: dict[str, str], place: dict[str, Any]
) -> None:
    debate = one(tmp_path / "f", VALUE).model_copy(update=update)
    assert written(debate) == changed(**place)
    again = one(tmp_path / "g", written(debate))
    assert {key: getattr(again, key) for key in update} == update


@pytest.mark.parametrize("configuration", [None, {}, {"topic": None, "user": None}, {"user": "u"}])
def test_a_poor_configuration_takes_a_claim_and_a_user(tmp_path: Path, configuration: Any) -> None:
    value = {"simulation": {"configuration": configuration, "userTurns": []}}
    debate = one(tmp_path / "f", value)
    assert written(debate) == value
    renewed = written(debate.model_copy(update={"claim": "C", "user": "V"}))
    assert renewed["simulation"]["configuration"]["topic"] == {"description": "C"}
    assert renewed["simulation"]["configuration"]["user"] == {"model": "V"}


def test_the_judged_debate_is_written_without_the_judging(tmp_path: Path) -> None:
    assert written(one(tmp_path / "f", JUDGED)) == VALUE


def test_judged_anew_nothing_of_the_old_judging_stays(tmp_path: Path) -> None:
    debate = one(tmp_path / "f", JUDGED)
    verdicts = {Maxim.QUALITY: Verdict(score=0.25, rationale="bad", extra={"why": "w"})}
    line = json.loads(files.evaluation_line(files.Evaluation(debate, (verdicts,))))
    quality = {"score": 0.25, "explanation": "bad", "why": "w"}
    assert line == {**VALUE, "userTurnsEvaluations": [{"Quality": quality}]}


def test_one_changed_verdict_leaves_the_others_as_they_stood(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(json.dumps(JUDGED))
    (read,) = files.read_evaluations(tmp_path / "f")
    assert json.loads(files.evaluation_line(read)) == JUDGED
    turn = {**read.turns[0], Maxim.MANNER: Verdict(score=1.0)}
    line = json.loads(files.evaluation_line(replace(read, turns=(turn, turn))))
    first, second = line.pop("userTurnsEvaluations")
    assert first == {
        "Quality": {"score": 1, "explanation": "good", "milliseconds": 3},
        "Manner": {"score": 1.0, "explanation": ""},
        "by": "them",
    }
    assert second["Quality"] == {"score": 1.0, "explanation": "good", "milliseconds": 3}
    assert line == {key: JUDGED[key] for key in JUDGED if key != "userTurnsEvaluations"}


def test_evaluations_without_a_debate_stay_without_one(tmp_path: Path) -> None:
    value = {"userTurnsEvaluations": [{"Quality": {"score": 1}}], "overallEvaluations": None}
    (tmp_path / "f").write_text(json.dumps(value))
    (read,) = files.read_evaluations(tmp_path / "f")
    assert json.loads(files.evaluation_line(read)) == value
    line = json.loads(files.evaluation_line(replace(read, overall={"n": 1})))
    assert line == {**value, "overallEvaluations": {"n": 1}}


RESPONSES = record(
    {"content": st.one_of(WORDS, st.none(), st.integers(0, 9)), "messages": messages("user")},
    {
        "debate": WORDS,
        "arguments": st.one_of(st.none(), st.lists(st.just(ARGUMENT), max_size=2)),
    },
)


@MANY
@given(value=RESPONSES)
def test_responses_are_written_as_they_stood(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "f"
    path.write_text(json.dumps(value))
    ((whole, (view,)),) = files.read_views(path)
    turn = len(view.turns) - 1
    assert view.last.response is not None
    assert json.loads(files.response_line(view, turn, view.last.response)) == value
    fresh = json.loads(files.response_line(view, turn, Response(content="new")))
    assert fresh == {
        "content": "new",
        "arguments": [],
        "debate": view.id,
        "turn": turn,
        "messages": value["messages"],
    }
    assert whole.turns == (view.last,)


@MANY
@given(claims=st.lists(WORDS, min_size=1, max_size=4))
def test_any_claim_survives_the_parameter_file(tmp_path: Path, claims: list[str]) -> None:
    path = tmp_path / "f"
    text = files.claims_text(Debate(claim=claim, user="u") for claim in claims)
    path.write_text(text, "utf-8", newline="")
    found = list(files.read_claims(path))
    assert [(one.claim, one.user) for one in found] == [
        (whole_characters(claim), "u") for claim in claims
    ]
    for row in text.split("\n")[1:-1]:  # what the official client does with a cell
        cell, _ = row.split("\t")
        assert json.loads(f'{{"description": "{cell}"}}') == {"description": found.pop(0).claim}


def test_a_cell_is_the_inside_of_a_json_string(tmp_path: Path) -> None:
    cells = {
        r"a \"b\" c": 'a "b" c',
        r"back\\slash": "back\\slash",
        r"caf\u00e9 C:\temp": "café C:\temp",
        'bare " one': 'bare " one',
        r'bare " and \"': 'bare " and "',
        r"\ud800": "\ufffd",
    }
    path = tmp_path / "f"
    path.write_text(
        "TOPIC_DESCRIPTION\tUSER\n" + "".join(f"{cell}\tu\n" for cell in cells), "utf-8"
    )
    found = list(files.read_claims(path))
    assert [one.claim for one in found] == list(cells.values())
    assert files.claims_text(found) == path.read_text("utf-8")
    renewed = found[0].model_copy(update={"claim": 'say "x"\ty'})
    assert files.claims_text([renewed]).splitlines()[1] == 'say \\"x\\"\\ty\tu'
