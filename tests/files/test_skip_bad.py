"""`--skip-bad` everywhere, with the line of what it skips; one wrong record decides on nothing."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.cases import with_cases
from tests.demo import ARGUMENTS
from tests.records import write_records
from tests.terminal import touche_rad


@with_cases(("record", "detail"), "files/wrong_ids.json")
def test_an_id_that_no_index_can_hold_is_named_with_its_line(
    record: dict[str, str], detail: str
) -> None:
    source = "arguments.jsonl"
    rows = [{"id": "1", "text": "One."}, record, {"id": "2", "text": "Two."}]
    write_records(source, *rows)
    refused = touche_rad("index -o index", source, code=2, err=f"{source}:2: id: ")
    assert detail in refused.err
    done = touche_rad("index -o index --skip-bad", source, err="2 arguments")
    assert "skipped: 1;" in done.err


def test_a_taken_port_is_one_line(demo_index_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = touche_rad("serve --host 127.0.0.1 -i", demo_index_path, "--port", port, code=2)
    assert "--port N" in ended.error
    wrong = touche_rad("serve --host 999.1.1.1 --port 0 -i", demo_index_path, code=2)
    assert "--host" in wrong.error


def test_an_address_without_its_backend_is_explained() -> None:
    touche_rad(
        "respond --say Hi. -i http://localhost:9200/claimrev",
        code=2,
        err="elasticsearch:http://localhost:9200/claimrev",
    )


@pytest.mark.parametrize(("encoder", "is_unknown"), [("minilmm", True), ("owner/name", False)])
def test_a_missing_encoder_is_an_error_before_the_index_is_built(
    encoder: str, is_unknown: bool
) -> None:
    place = Path("index")
    words = ("-o", place, "--dense", encoder)
    ended = touche_rad("index", ARGUMENTS, *words, code=2)
    assert ("'minilm'" in ended.err) == is_unknown
    assert ("OWNER/NAME" in ended.err) == is_unknown
    assert not place.exists()
