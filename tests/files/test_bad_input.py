"""Bad input: one line with file, line, field and what was expected; skipped and counted if wished."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


def _sim(**turn: Any) -> str:
    return json.dumps({"simulation": {"userTurns": [TURN, {**TURN, **turn}]}})


def _system(**system: Any) -> str:
    return _sim(systemResponse={**TURN["systemResponse"], **system})  # type: ignore[dict-item]


BAD = {
    '{"simulation": {"userTurns": [': "expected JSON",
    '{"simulation": {"userTurns": [NaN]}}': "expected JSON: NaN is no number",
    "\ufeff" + json.dumps(GOOD): "expected JSON, got '\\ufeff' before it",
    "\x1e" + json.dumps(GOOD): "expected JSON, got '\\x1e' before it",
    '{"simulation": 3}': "simulation: expected an object, got 3",
    '{"simulation": {}, "userTurns": []}': "simulation.userTurns: missing",
    '{"simulation": {"userTurns": "x"}}': "simulation.userTurns: expected a list, got 'x'",
    "{}": "an empty record: the official client writes one where a debate failed",
    '{"simulation": ' + "9" * 5000 + "}": "expected JSON: ",
    _sim(utterance=None): "simulation.userTurns[1].utterance: expected text, got None",
    _system(
        response={"arguments": {}}
    ): "systemResponse.response.arguments: expected a list, got {}",
    _system(response={"arguments": [{"id": "1"}]}): "response.arguments[0].text: missing",
    _system(
        response={"arguments": [{"id": 7, "text": "t"}]}
    ): "arguments[0].id: expected text, got 7",
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_is_an_error_or_skipped(tmp_path: Path, line: str) -> None:
    path = tmp_path / "sim.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{line}\n{json.dumps(GOOD)}\n", "utf-8")
    with pytest.raises(InputError) as told:
        list(files.read_debates(path))
    assert str(told.value).startswith(f"{path}:2: ")
    assert BAD[line] in str(told.value)
    assert "\n" not in str(told.value)
    bad = BadLines(skip=True)
    assert len(list(files.read_debates(path, bad))) == 2
    assert (bad.count, str(bad.first)) == (1, str(told.value))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"messages": []}', "messages: expected at least one message"),
        (
            '{"messages": [{"role": "assistant", "content": "x"}]}',
            "messages[0].role: expected 'user'",
        ),
        ('{"messages": [{"role": "user", "content": {}}]}', "messages[0].content: expected text"),
        (
            '{"simulated_debate": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}',
            "simulated_debate[1].role: expected 'assistant', got 'user'",
        ),
        (
            '{"userTurnsEvaluations": [{"Quality": {"score": "0.9"}}]}',
            "userTurnsEvaluations[0].Quality.score: expected a number or null, got '0.9'",
        ),
        (
            '{"userTurnsEvaluations": [{"Quality": {}}]}',
            "userTurnsEvaluations[0].Quality.score: missing",
        ),
        ('[{"quality": 2}]', "[0].quality: expected 0, 1 or null, got 2"),
        ('[{"quality": true}]', "[0].quality: expected 0, 1 or null, got True"),
        ("TOPIC_DESCRIPTION\tUSER\nonly one", "expected 2 columns, got 1"),
        ("q Q0 d 1 0.5 t\nq Q0 d 2 high t", "SCORE: expected a number, got 'high'"),
        ("q Q0 d 1 0.5 t\nq Q0 d 2 0.4 t", "file:2: duplicate document d for query q"),
        ("q 0 d 1\nq 0 d", "expected `QUERY 0 DOCUMENT RELEVANCE`, got 3 columns"),
    ],
)
def test_errors_name_the_field_in_each_kind(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "file"
    path.write_text(text + "\n", "utf-8")
    with pytest.raises(InputError) as error:
        _read(path)
    assert told in str(error.value)


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
def test_the_lost_rest_of_a_gzip_file_is_never_skipped(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "sim.jsonl.gz"
    text = "".join(json.dumps({**GOOD, "x": os.urandom(500).hex()}) + "\n" for _ in range(200))
    whole = gzip.compress(text.encode())
    path.write_bytes(whole[: len(whole) // 2])
    for words, code in (((), 2), (("--skip-bad",), 1)):
        ended = touche_rad(*verb.split(), path, "-o", tmp_path / "out.jsonl", *words)
        assert ended.code == code
        assert "the gzip file is broken, and the rest of the file is lost" in ended.err
        assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "is empty"),
        (bytes(range(256)) * 20, "expected UTF-8 text"),
        (json.dumps(GOOD).encode("utf-16"), "f:1: expected UTF-8 text, got the byte"),
        (b'{"simulation": {"topic": {}, "maxTurns": 3}}\n', "no known kind"),
        (b"ID\tCLAIM\n", "first line with the columns TOPIC_DESCRIPTION and USER"),
        (b"\n{}\n{}\n", "f:2: an empty record"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00", "f:1: the gzip file is broken"),
        (b'{\n  "simulation": {}\n}\n', "f:1: expected JSON: .* one complete record per line"),
        (b"TOPIC_DESCRIPTION\tUSER\n\n", "expected at least one claim below the header"),
        (b"TOPIC_DESCRIPTION\tUSER\n \tbase\n", "f:2: TOPIC_DESCRIPTION: expected a claim"),
        (b"TOPIC_DESCRIPTION\tUSER\n\xe2\x80\x8b\tbase\n", "f:2: TOPIC_DESCRIPTION: expected"),
        (b"TOPIC_DESCRIPTION\tUSER\n\xc2\xa0\n", "f:2: expected 2 columns"),
        (b"TOPIC_DESCRIPTION\tUSER\na\tb\n\n\nc\td\n\n", "f:3: expected 2 columns"),
    ],
)
def test_a_file_of_no_kind_is_refused(tmp_path: Path, content: bytes, error: str) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError, match=error):
        list(files.read_claims(tmp_path / "f"))


def test_a_place_without_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    for place, error in (
        (tmp_path, "expected a file, got a folder"),
        (tmp_path / "link", "No such"),
    ):
        with pytest.raises(InputError, match=error):
            list(files.read_debates(place))


def test_a_key_occurs_once_in_an_object(tmp_path: Path) -> None:
    path = tmp_path / "twice"
    path.write_text(
        json.dumps(GOOD).replace('{"simulation"', '{"id": "a", "id": "b", "simulation"')
    )
    with pytest.raises(InputError, match="twice:1: expected each key once"):
        list(files.read_debates(path))


@pytest.mark.parametrize("wrong", ["Quantity", "relaton"])
def test_a_misspelt_label_is_an_error(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "labels"
    for right in ({"quality": 1, "manner": 0}, dict.fromkeys(Maxim, 1)):
        path.write_text(json.dumps([{**right, wrong: 1}]))
        with pytest.raises(
            InputError, match=rf"labels:1: \[0\]\.{wrong}: expected one of quantity"
        ):
            list(files.read_labels(path))


def test_kinds_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "mixed"
    path.write_text(f'{json.dumps(GOOD)}\n{{"messages": [{{"role": "user", "content": "x"}}]}}\n')
    with pytest.raises(InputError, match="mixed:2: simulation: missing"):
        list(files.read_debates(path))
    with pytest.raises(InputError, match="expected labels, got simulations"):
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
def test_any_bytes_are_read_or_an_input_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    for bad in (BadLines(), BadLines(skip=True)):
        with suppress(InputError):
            _read(path, bad)
