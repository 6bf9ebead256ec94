"""Values that are JSON and yet odd: read so that nothing after them fails, told where that cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from touche_rad import files
from touche_rad.debate import Debate, Maxim, Response
from touche_rad.errors import InputError, UserError
from touche_rad.files import BadLines
from touche_rad.files.records import DEEPEST, parse
from touche_rad.plugins import build_index, open_index

HALF = "a\ud800b"
WHOLE = "a\ufffdb"


def simulation(**system: Any) -> dict[str, Any]:
    said = {"utterance": "S", "response": {"content": "S", "arguments": []}, **system}
    return {"simulation": {"userTurns": [{"utterance": "U", "systemResponse": said}]}}


def write(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def test_half_a_character_is_whole_in_the_debate_and_stands_in_the_file(tmp_path: Path) -> None:
    value = simulation(utterance=HALF, response={"content": HALF, HALF: [HALF]})
    (debate,) = files.read_debates(write(tmp_path / "f", value))
    assert debate.system_texts == (WHOLE,)
    assert debate.model_dump(exclude={"wire"})["turns"][0]["response"]["extra"][WHOLE] == [WHOLE]
    line = files.simulation_line(debate)
    line.encode("utf-8")
    assert json.loads(line) == value


@pytest.mark.parametrize(("open_", "inside", "close"), [("[", "", "]"), ('{"a":', "1", "}")])
def test_a_record_may_be_so_deep_and_no_deeper(open_: str, inside: str, close: str) -> None:
    parse(open_ * DEEPEST + inside + close * DEEPEST)
    with pytest.raises(ValueError, match="at most 100 levels"):
        parse(open_ * (DEEPEST + 1) + inside + close * (DEEPEST + 1))


@pytest.mark.parametrize("number", ["1e999", "-1e400", "NaN", "Infinity", "-Infinity"])
def test_what_is_no_finite_number_is_refused(tmp_path: Path, number: str) -> None:
    text = json.dumps(simulation() | {"x": 1}).replace('"x": 1', f'"x": {number}')
    (tmp_path / "f").write_text(text)
    with pytest.raises(InputError, match=f"f:1: expected JSON: {number} is no number"):
        list(files.read_debates(tmp_path / "f"))


def test_a_true_score_is_one_as_for_the_official_scorer(tmp_path: Path) -> None:
    value = {**simulation(), "userTurnsEvaluations": [{"Quality": {"score": True}}]}
    (evaluation,) = files.read_evaluations(write(tmp_path / "f", value))
    assert evaluation.turns[0][Maxim.QUALITY].score == 1.0
    assert json.loads(files.evaluation_line(evaluation)) == value


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ({"utterance": None, "response": {"content": None}}, ""),
        ({"utterance": 42, "response": {"content": 42}}, "42"),
        ({"utterance": None, "response": {"content": "words"}}, "words"),
        ({"utterance": "words", "response": {"content": "others"}}, "words"),
        ({"utterance": "words", "response": None}, "words"),
    ],
)
def test_what_a_system_said_is_text_whatever_it_sent(
    tmp_path: Path, system: dict[str, Any], said: str
) -> None:
    (debate,) = files.read_debates(write(tmp_path / "f", simulation(**system)))
    assert debate.system_texts == (said,)
    assert json.loads(files.simulation_line(debate)) == simulation(**system)


def test_a_cited_argument_may_leave_null_what_nobody_needs(tmp_path: Path) -> None:
    cited = {"id": "1", "text": "t", "topic": None, "attacks": None, "tags": None, "x": None}
    value = simulation(response={"content": "S", "arguments": [cited]})
    (debate,) = files.read_debates(write(tmp_path / "f", value))
    assert debate.turns[0].response is not None
    assert debate.turns[0].response.arguments[0].topic == ""
    assert json.loads(files.simulation_line(debate)) == value


def test_a_collection_keeps_its_nulls_and_what_it_leaves_out(tmp_path: Path) -> None:
    values = [
        {"id": "1", "text": "t", "tags": None, "references": None, "original": None, "n": None},
        {"id": "2", "text": "t", "tags": [], "n": {"m": [None]}},
        {"id": "3", "text": "t"},
        {"id": "4", "text": "t", "topic": None, "attacks": None, "supports": None},
    ]
    arguments = list(files.read_arguments(write(tmp_path / "f", *values)))
    assert [json.loads(files.argument_line(one)) for one in arguments] == values
    assert arguments[0].tags == ()
    assert arguments[3].attacks == ""


def test_nulls_come_back_from_an_index_and_stand_in_what_is_cited(tmp_path: Path) -> None:
    value = {"id": "1", "text": "Zoos teach.", "topic": None, "tags": None, "attacks": "Zoos harm."}
    build_index(files.read_arguments(write(tmp_path / "f", value)), str(tmp_path / "index"))
    index = open_index(str(tmp_path / "index"))
    assert [json.loads(files.argument_line(one)) for one in index.arguments()] == [value]
    cited = Response(content="S", arguments=tuple(index.arguments()))
    line = json.loads(files.simulation_line(Debate().with_utterance("U").with_response(cited)))
    turn = line["simulation"]["userTurns"][0]
    assert turn["systemResponse"]["response"]["arguments"] == [value]
    again = files.read_arguments(write(tmp_path / "s", line))
    assert [json.loads(files.argument_line(one)) for one in again] == [value]


def test_arguments_are_taken_from_debates_once_and_without_their_rank(tmp_path: Path) -> None:
    argument = {"id": "1", "text": "t", "tags": ["a"], "year": 1999}
    value = {
        "simulated_debate": [
            {"role": "user", "content": "U", "arguments": [{"id": "2", "text": "u"}, {"id": 5}, 7]},
            {
                "role": "assistant",
                "content": "S",
                "arguments": [{**argument, "key": 1, "score": 2.5}],
            },
            {"role": "user", "content": "U", "arguments": [argument]},
            {"role": "assistant", "content": "S", "arguments": []},
            {"role": "user", "content": "U", "arguments": "nonsense"},
        ]
    }
    found = files.read_arguments(write(tmp_path / "f", value))
    lines = [json.loads(files.argument_line(one)) for one in found]
    assert lines == [{"id": "2", "text": "u"}, argument]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (json.dumps(simulation()).encode("utf-16"), "f:1: expected UTF-8 text, got the byte"),
        (b"\x89PNG\r\n\x1a\n", "f:1: expected UTF-8 text, got the byte 0x89"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00", "f:1: the gzip file is broken"),
        (b'{\n  "simulation": {}\n}\n', "f:1: expected JSON: .* one complete record per line"),
        (b"topic\tmodel\nx\ty\n", "f:1: is of no known kind .*, got 'topic.tmodel'"),
        (b"USER\tTOPIC\nx\ty\n", "f:1: TOPIC_DESCRIPTION: expected the columns"),
        (b"TOPIC_DESCRIPTION\nx\n", "f:1: USER: expected the columns"),
        (b"TOPIC_DESCRIPTION\tUSER\n\n", "expected at least one claim below the header"),
        (b"\n{}\n", "f:2: an empty record: the official client writes one"),
    ],
)
def test_a_file_that_shows_no_kind_is_told_why(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError, match=told):
        list(files.read_claims(tmp_path / "f"))


def test_the_kind_is_told_by_the_first_line_that_shows_it(tmp_path: Path) -> None:
    text = f"{{}}\n\x00\n{json.dumps(simulation())}\n"
    (tmp_path / "f").write_text(text)
    assert files.detect_kind(tmp_path / "f") is files.Kind.SIMULATIONS
    bad = BadLines(skip=True)
    assert len(list(files.read_debates(tmp_path / "f", bad))) == 1
    assert bad.count == 2


def test_a_run_skips_its_bad_rows_and_keeps_its_scores(tmp_path: Path) -> None:
    rows = [
        "q Q0 d 1 1e-09 t",
        "q Q0 e x 2 t",
        "q Q0 f 2 1_0 t",
        "q Q0 g 3 nan t",
        "q 7 h 4 -2.5 t",
    ]
    (tmp_path / "f").write_text("\n".join(rows))
    bad = BadLines(skip=True)
    found = list(files.read_run(tmp_path / "f", bad))
    assert list(files.run_lines(found)) == ["q Q0 d 1 1e-09 t", "q 7 h 4 -2.500000 t"]
    assert bad.count == 3
    assert "f:2: RANK: expected a whole number, got 'x'" in str(bad.first)


@pytest.mark.parametrize("name", ["a b", "", " a", "a\t", "a\u2028b"])
def test_a_run_cannot_hold_names_with_white_space(name: str) -> None:
    with pytest.raises(UserError, match="without white space"):
        list(files.run_lines([files.Ranked("q", name, 1, 1.0, "t")]))
    with pytest.raises(UserError, match="without white space"):
        list(files.qrels_lines([files.Qrel(name, "d", 1)]))


def test_a_responses_own_role_does_not_hide_who_speaks(tmp_path: Path) -> None:
    body = {"content": "S", "role": "tool", "arguments": []}
    (debate,) = files.read_debates(write(tmp_path / "f", simulation(response=body)))
    roles = [one["role"] for one in json.loads(files.annotated_line(debate))["simulated_debate"]]
    assert roles == ["user", "assistant"]
    answered = debate.with_response(Response(content="N", extra={"role": "tool"}))
    assert json.loads(files.chat_line(answered))["messages"][1] == {
        "role": "assistant",
        "content": "N",
    }
