"""Bad input: one line with file, line, field and what was expected; skipped and counted if wished."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import with_cases
from tests.records import read_cases
from tests.refusals import expect_error
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import InputError
from touche_rad.files import BadLines, Kind

TURN = {
    "utterance": "U",
    "systemResponse": {"utterance": "S", "response": {"arguments": [{"id": "1", "text": "t"}]}},
}
GOOD = {"simulation": {"userTurns": [TURN]}}
LONG_NUMBER = f'{{"simulation": {"9" * 5000}}}'


@pytest.mark.parametrize(
    ("line", "field", "detail"),
    [*read_cases("files/bad_lines.json"), (LONG_NUMBER, None, "JSON")],
)
def test_a_bad_line_is_an_error_or_skipped(line: str, field: str | None, detail: str) -> None:
    path = Path("sim.jsonl")
    path.write_text(f"{json.dumps(GOOD)}\n{line}\n{json.dumps(GOOD)}\n", "utf-8")
    with pytest.raises(InputError) as raised:
        list(files.read_debates(path))
    error = raised.value
    assert error.path == str(path)
    assert error.line == 2
    assert error.field == field
    assert detail in error.expected
    assert "\n" not in str(error)
    bad = BadLines(skip=True)
    assert len(list(files.read_debates(path, bad))) == 2
    assert bad.count == 1
    assert str(bad.first) == str(error)


@with_cases(("text", "field", "detail"), "files/wrong_fields.json")
def test_errors_name_the_field_in_each_kind(text: str, field: str | None, detail: str) -> None:
    path = Path("file")
    path.write_text(text + "\n", "utf-8")
    with pytest.raises(InputError) as raised:
        _read(path)
    assert raised.value.line == len(text.splitlines()), "the last line"
    assert raised.value.field == field
    assert detail in raised.value.expected


def _read(path: Path, bad: BadLines | None = None) -> int:
    read = {
        Kind.LABELS: files.read_labels,
        Kind.CLAIMS: files.read_claims,
        Kind.RUN: files.read_run,
        Kind.QRELS: files.read_qrels,
        Kind.ARGUMENTS: files.read_arguments,
        Kind.EVALUATIONS: files.read_evaluations,
    }.get(files.detect_kind(path), files.read_debates)
    return len(list(read(path, bad)))  # type: ignore[operator]


@pytest.mark.parametrize("verb", ["judge -j length", "contests"])
def test_the_lost_rest_of_a_gzip_file_is_never_skipped(verb: str) -> None:
    path = Path("sim.jsonl.gz")
    text = "".join(json.dumps({**GOOD, "x": os.urandom(500).hex()}) + "\n" for _ in range(200))
    zipped = gzip.compress(text.encode())
    path.write_bytes(zipped[: len(zipped) // 2])
    for words, code in (((), 2), (("--skip-bad",), 1)):
        ended = touche_rad(verb, path, "-o", "out.jsonl", *words, code=code, err=f"{path}:")
        assert "gzip" in ended.err
        assert not Path("out.jsonl").exists()


@with_cases(("content", "line", "field", "detail"), "files/files_of_no_kind.json")
def test_a_file_of_no_kind_is_refused(
    content: str, line: int | None, field: str | None, detail: str
) -> None:
    """A lone surrogate in the cases is a byte that is not UTF-8."""
    Path("f").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as raised:
        list(files.read_claims(Path("f")))
    assert raised.value.line == line
    assert raised.value.field == field
    assert detail in raised.value.expected


def test_a_place_without_a_file_is_refused(tmp_path: Path) -> None:
    Path("killed.part").touch()
    touche_rad("judge killed -o judged", code=2, err="finished: run its command again")
    Path("link").symlink_to("nowhere")
    for place, detail in ((tmp_path, "got a folder"), (Path("link"), "No such")):
        with expect_error(detail, InputError) as raised:
            list(files.read_debates(place))
        assert raised.value.path == str(place)


def test_a_key_occurs_once_in_an_object() -> None:
    path = Path("twice")
    path.write_text(
        json.dumps(GOOD).replace('{"simulation"', '{"id": "a", "id": "b", "simulation"')
    )
    with expect_error("'id'", InputError) as raised:
        list(files.read_debates(path))
    assert raised.value.line == 1


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [("Quantity", "quantity"), ("relaton", "quantity"), ("words", "expected a text")],
)
def test_a_misspelt_label_is_an_error(wrong: str, fault: str) -> None:
    path = Path("labels")
    for right in ({"quality": 1, "manner": 0}, dict.fromkeys(Maxim, 1)):
        path.write_text(json.dumps([{**right, wrong: 1}]))
        with expect_error(fault, InputError) as raised:
            list(files.read_labels(path))
        assert raised.value.line == 1
        assert raised.value.field == f"[0].{wrong}"


def test_labels_are_read_as_by_the_official_scorer(caplog: pytest.LogCaptureFixture) -> None:
    path = Path("labels")
    record = {"comment": "x", "quality": True, "manner": "0", "relation": 1.0, "quantity": None}
    path.write_text(json.dumps([record, {"comment": "y", "quality": 0}]))
    ((first, second),) = files.read_labels(path)
    assert list(first.items()) == list({**record, "quality": 1, "manner": 0, "relation": 1}.items())
    assert [type(label) for label in first.values()] == [str, int, int, int, type(None)]
    assert second == {"comment": "y", "quality": 0}
    assert "3 labels such as true" in caplog.text


def test_kinds_do_not_mix() -> None:
    path = Path("mixed")
    path.write_text(f'{json.dumps(GOOD)}\n{{"messages": [{{"role": "user", "content": "x"}}]}}\n')
    with pytest.raises(InputError) as raised:
        list(files.read_debates(path))
    assert raised.value.line == 2
    assert raised.value.field == "simulation"
    with expect_error("simulations", InputError):
        list(files.read_labels(path))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    content=st.one_of(
        st.binary(max_size=80),
        st.binary(max_size=20).map(lambda tail: json.dumps(GOOD).encode() + b"\n" + tail),
        st.text(alphabet='{}[]":, \n\tsimulationuserTurns0', max_size=60).map(str.encode),
        st.binary(max_size=30).map(lambda tail: b"\x1f\x8b\x08\x00" + tail),
    )
)
def test_any_bytes_are_read_or_an_input_error(content: bytes) -> None:
    path = Path("any")
    path.write_bytes(content)
    for bad in (BadLines(), BadLines(skip=True)):
        with suppress(InputError):
            _read(path, bad)
