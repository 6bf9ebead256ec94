"""`--skip-bad` everywhere, with the line of what it skips; one wrong record decides on nothing."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.terminal import touche_rad
from touche_rad.demo import demo_file

DEBATES = demo_file("debates.jsonl")


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"id": "", "text": "No id."}, "id: expected 1 to 512 bytes"),
        ({"id": "x" * 600, "text": "Long id."}, "of 600 bytes"),
        ({"id": "1", "text": "Another text."}, "another argument has the id '1' already"),
    ],
)
def test_an_id_that_no_index_can_hold_is_named_with_its_line(
    tmp_path: Path, record: dict[str, str], told: str
) -> None:
    source = tmp_path / "arguments.jsonl"
    rows = [{"id": "1", "text": "One."}, record, {"id": "2", "text": "Two."}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused = touche_rad("index", source, "-o", tmp_path / "index")
    assert (refused.code, f"{source}:2: id: " in refused.err, told in refused.err) == (
        2,
        True,
        True,
    )
    done = touche_rad("index", source, "-o", tmp_path / "index", "--skip-bad")
    assert done.code == 0, done.err
    assert "indexed 2 arguments" in done.err
    assert "1 invalid lines skipped" in done.err


def test_a_taken_port_is_one_line(demo_index_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = touche_rad("serve", "-i", demo_index_path, "--host", "127.0.0.1", "--port", port)
    assert (ended.code, ended.err.count("\n"), "--port N" in ended.err) == (2, 1, True)
    wrong = touche_rad("serve", "-i", demo_index_path, "--host", "999.1.1.1", "--port", "0")
    assert (wrong.code, wrong.err.count("\n"), "--host" in wrong.err) == (2, 1, True)


def test_an_address_without_its_backend_is_explained() -> None:
    ended = touche_rad("respond", "--say", "Hi.", "-i", "http://localhost:9200/claimrev")
    assert ended.code == 2
    assert "write elasticsearch:http://localhost:9200/claimrev" in ended.err


def test_a_missing_encoder_is_an_error_before_the_index_is_built(tmp_path: Path) -> None:
    place = tmp_path / "index"
    ended = touche_rad("index", demo_file("arguments.jsonl"), "-o", place, "--dense", "minilmm")
    assert (ended.code, "minilm" in ended.err, place.exists()) == (2, True, False)
