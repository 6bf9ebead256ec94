"""What a plugin has changed is written with its new words; all else stands as it stood."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import with_cases
from tests.files.test_round_trips import MANY, WORDS, messages, record
from tests.records import change_parts, read_cases, write_records
from touche_rad import files
from touche_rad.debate import Debate, Maxim, Response, Verdict
from touche_rad.files.records import whole_characters
from touche_rad.text import is_blank

ARGUMENT = {"id": "1.2", "text": "t", "score": 0.5, "note": {"a": [None]}}
JUDGED = read_cases("files/judged_by_others.json")
VALUE = {key: JUDGED[key] for key in ("simulation", "x")}


def one(path: Path, value: Any) -> Debate:
    write_records(path, value)
    (debate,) = files.read_debates(path)
    return debate


def written(debate: Debate) -> Any:
    return json.loads(files.simulation_line(debate))


SAID = {"utterance": "S2", "response": {"content": "S2", "arguments": []}}


TURNS = VALUE["simulation"]["userTurns"]
REQUEST = {key: TURNS[0][key] for key in ("utterance", "mood")}
CHANGES: list[tuple[Callable[[Debate], Debate], dict[str, Any]]] = [
    (lambda debate: debate.view(0), {"simulation.userTurns": TURNS[:1]}),
    (lambda debate: debate.before_response(0), {"simulation.userTurns": [REQUEST]}),
    (
        lambda debate: debate.view(0).with_response(Response(content="S2")).with_utterance("U2"),
        {
            "simulation.userTurns.0.systemResponse": SAID,
            "simulation.userTurns.1": {"utterance": "U2", "systemResponse": None},
        },
    ),
    (
        lambda debate: debate.model_copy(update={"claim": "D", "user": "V", "id": "d7"}),
        {
            "simulation.configuration.topic.description": "D",
            "simulation.configuration.user.model": "V",
            "id": "d7",
        },
    ),
    (lambda debate: debate.model_copy(update={"description": "long"}), {"description": "long"}),
]


@pytest.mark.parametrize(("change", "places"), CHANGES)
def test_only_what_has_changed_is_written_again(
    change: Callable[[Debate], Debate], places: dict[str, Any]
) -> None:
    debate = change(one(Path("f"), VALUE))
    expected = copy.deepcopy(VALUE)
    change_parts(expected, places)
    assert written(debate) == expected
    again = one(Path("g"), written(debate))
    for name in ("claim", "user", "description", "turns"):
        assert getattr(again, name) == getattr(debate, name)


def test_a_new_judgement_has_nothing_of_the_old_one() -> None:
    debate = one(Path("f"), JUDGED)
    verdicts = {Maxim.QUALITY: Verdict(score=0.25, rationale="bad", extra={"why": "w"})}
    line = json.loads(files.evaluation_line(files.Evaluation(debate, (verdicts,))))
    quality = {"score": 0.25, "explanation": "bad", "why": "w"}
    assert line == {**VALUE, "userTurnsEvaluations": [{"Quality": quality}]}


RESPONSES = record(
    {"content": st.one_of(WORDS, st.none(), st.integers(0, 9)), "messages": messages("user")},
    {"debate": WORDS, "arguments": st.one_of(st.none(), st.lists(st.just(ARGUMENT), max_size=2))},
)


@MANY
@given(value=RESPONSES)
def test_responses_are_written_as_they_were_read(value: Any) -> None:
    path = Path("f")
    path.write_text(json.dumps(value))
    ((debate, (view,)),) = files.read_views(path)
    turn = len(view.turns) - 1
    assert view.last.response is not None
    assert json.loads(files.response_line(view, turn, view.last.response)) == value
    another = json.loads(files.response_line(view, turn, Response(content="new")))
    assert another == {
        "content": "new",
        "arguments": [],
        "debate": view.id,
        "turn": turn,
        "messages": value["messages"],
    }
    assert debate.turns == (view.last,)


@MANY
@given(claims=st.lists(WORDS.filter(lambda text: not is_blank(text)), min_size=1, max_size=4))
def test_any_claim_survives_the_parameter_file(claims: list[str]) -> None:
    path = Path("f")
    text = files.claims_text(Debate(claim=claim, user="u") for claim in claims)
    path.write_text(text, "utf-8", newline="")
    debates = list(files.read_claims(path))
    assert [debate.claim for debate in debates] == whole_characters(claims)
    assert {debate.user for debate in debates} == {"u"}
    for row, debate in zip(text.split("\n")[1:-1], debates, strict=True):
        cell, _ = row.split("\t")  # what the official client does with a cell
        assert json.loads(f'{{"description": "{cell}"}}') == {"description": debate.claim}


@with_cases(("fields", "claim"), "files/topics_of_debates.json")
def test_a_debate_has_a_claim_or_its_first_message_is_it(
    fields: dict[str, Any], claim: str
) -> None:
    path = Path("f")
    turns = [{"utterance": "Zoos are bad."}, {"utterance": "They are."}]
    path.write_text(json.dumps({"simulation": {"userTurns": turns, **fields}}), "utf-8")
    (debate,) = files.read_claims(path)
    assert debate.claim == claim
    assert debate.turns == ()


def test_a_cell_is_the_inside_of_a_json_string() -> None:
    cells = {
        r"a \"b\" c": 'a "b" c',
        r"back\\slash": "back\\slash",
        r"caf\u00e9 C:\temp": "café C:\temp",
        'bare " one': 'bare " one',
        r'bare " and \"': 'bare " and "',
        r"\ud800": "\ufffd",
    }
    path = Path("f")
    path.write_text(
        "TOPIC_DESCRIPTION\tUSER\n" + "".join(f"{cell}\tu\n" for cell in cells), "utf-8"
    )
    debates = list(files.read_claims(path))
    assert [debate.claim for debate in debates] == list(cells.values())
    assert files.claims_text(debates) == path.read_text("utf-8")
    renewed = debates[0].model_copy(update={"claim": 'say "x"\ty'})
    assert files.claims_text([renewed]).splitlines()[1] == 'say \\"x\\"\\ty\tu'
