"""Values that are JSON and yet odd: read so that nothing after them fails, told where that cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import with_cases
from tests.records import read_cases, write_records
from tests.refusals import expect_error
from touche_rad import files
from touche_rad.errors import InputError
from touche_rad.files import BadLines
from touche_rad.files.records import DEEPEST, parse
from touche_rad.plugins import build_index, open_index

HALF = "a\ud800b"
WHOLE = "a\ufffdb"


def simulation(**system: Any) -> dict[str, Any]:
    answer = {"utterance": "S", "response": {"content": "S", "arguments": []}, **system}
    return {"simulation": {"userTurns": [{"utterance": "U", "systemResponse": answer}]}}


def test_a_lone_surrogate_is_replaced() -> None:
    value = simulation(utterance=HALF, response={"content": HALF, HALF: [HALF]})
    (debate,) = files.read_debates(write_records("f", value))
    assert debate.system_texts == (WHOLE,)
    assert debate.model_dump(exclude={"wire"})["turns"][0]["response"]["extra"][WHOLE] == [WHOLE]
    written = json.loads(files.simulation_line(debate))
    assert written == simulation(utterance=WHOLE, response={"content": WHOLE, WHOLE: [WHOLE]})


@pytest.mark.parametrize(("open_", "inside", "close"), [("[", "", "]"), ('{"a":', "1", "}")])
def test_a_record_has_at_most_100_levels(open_: str, inside: str, close: str) -> None:
    parse(open_ * DEEPEST + inside + close * DEEPEST)
    with pytest.raises(ValueError, match="100 levels"):
        parse(open_ * (DEEPEST + 1) + inside + close * (DEEPEST + 1))


@pytest.mark.parametrize("number", ["1e999", "-1e400", "NaN", "Infinity", "-Infinity"])
def test_numbers_must_be_finite(number: str) -> None:
    text = json.dumps(simulation() | {"x": 1}).replace('"x": 1', f'"x": {number}')
    Path("f").write_text(text)
    with expect_error(number, InputError) as raised:
        list(files.read_debates(Path("f")))
    assert raised.value.line == 1


@with_cases(("system", "said"), "files/odd_responses.json")
def test_a_response_is_text_also_if_the_system_sent_another_value(
    system: dict[str, Any], said: str
) -> None:
    (debate,) = files.read_debates(write_records("f", simulation(**system)))
    assert debate.system_texts == (said,)
    assert json.loads(files.simulation_line(debate)) == simulation(**system)


def test_nulls_of_a_collection_are_missing_fields() -> None:
    value = {"id": "1", "text": "Zoos teach.", "attacks": "Zoos harm.", "original": None}
    nulls = {"topic": None, "tags": None, "supports": None}
    build_index(files.read_arguments(write_records("f", value | nulls)), "index")
    index = open_index("index")
    (argument,) = index.arguments()
    assert json.loads(files.argument_line(argument)) == value


def test_arguments_are_taken_from_debates_once_and_without_their_rank() -> None:
    argument = {"id": "1", "text": "t", "tags": ["a"], "year": 1999}
    debate = read_cases("files/odd_arguments.json")
    arguments = files.read_arguments(write_records("f", debate))
    lines = [json.loads(line) for line in map(files.argument_line, arguments)]
    assert lines == [{"id": "2", "text": "u"}, argument]


def test_the_first_line_that_shows_a_kind_decides() -> None:
    Path("f").write_text(f"{{}}\n\x00\n{json.dumps(simulation())}\n")
    assert files.detect_kind(Path("f")) is files.Kind.SIMULATIONS
    bad = BadLines(skip=True)
    assert len(list(files.read_debates(Path("f"), bad))) == 1
    assert bad.count == 2


def test_a_run_skips_its_bad_rows_and_keeps_its_scores() -> None:
    rows = [
        "q Q0 d 1 1e-09 t",
        "q Q0 e x 2 t",
        "q Q0 f 2 1_0 t",
        "q Q0 g 3 nan t",
        "q 7 h 4 -2.5 t",
    ]
    Path("f").write_text("\n".join(rows))
    bad = BadLines(skip=True)
    rows_read = list(files.read_run(Path("f"), bad))
    assert list(files.run_lines(rows_read)) == ["q Q0 d 1 1e-09 t", "q Q0 h 4 -2.500000 t"]
    assert bad.count == 3
    assert bad.first is not None
    assert bad.first.line == 2
    assert bad.first.field == "RANK"
    assert "'x'" in bad.first.expected


@pytest.mark.parametrize("name", ["a b", "", " a", "a\t", "a\u2028b"])
def test_a_run_cannot_hold_names_with_white_space(name: str) -> None:
    with expect_error("white space"):
        list(files.run_lines([files.Ranked("q", name, 1, 1.0, "t")]))
