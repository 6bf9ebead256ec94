from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from touche_rad.debate import Debate
from touche_rad.files.outputs import Status, sha256_of, write_status
from touche_rad.runs.fallbacks import Fallback
from touche_rad.runs.output import MOST_EXAMPLES, Done, Tally
from touche_rad.runs.work import at_turn


def status(**fields: Any) -> Status:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    return Status.model_validate(
        {
            "verb": "judge",
            "state": "done",
            "started": now,
            "finished": now,
            "seconds": 1.25,
            **fields,
        }
    )


def test_a_tally_adds_up_and_keeps_a_few_examples() -> None:
    tally = Tally()
    for number in range(8):
        notes = (f"cut: debate {number}: 70 words to 55", "last-resort: x") if number % 2 else ()
        other = Fallback("debater x", "verbatim", "answers", "KeyError", f"failure {number}")
        other = replace(other, turn=number % 5 + 1)
        fallbacks = (other,) * (number % 2)
        tally.add(Done((), {"answers": 5}, (*notes, f"cut: again {number}"), fallbacks))
    fields = tally.fields()
    assert fields["counts"] == {"answers": 40}
    assert fields["replaced"] == 4
    assert [(one["count"], one["reason"]) for one in fields["fallbacks"]] == [(4, "failure 1")]
    assert fields["fallbacks"][0]["turns"] == list(fields["replaced_turns"])
    assert fields["replaced_turns"] == ("2.2", "4.4", "6.1", "8.3")
    assert list(fields["notes"].items()) == [("cut", 12), ("last-resort", 4)]
    assert fields["examples"]["cut"][1] == "debate 1: 70 words to 55"
    assert len(fields["examples"]["cut"]) == MOST_EXAMPLES
    assert fields["examples"]["last-resort"] == ("x",) * 4


def test_a_note_is_placed_after_its_kind() -> None:
    assert at_turn("cut: 70: 55", Debate(id="x"), 0) == "cut: debate x, turn 1: 70: 55"
    assert at_turn("cut: y", Debate(), 2) == "cut: debate ?, turn 3: y"


def test_the_lines_say_it_all_in_short() -> None:
    said = status(
        units=4, done=3, resumed=2, counts={"verdicts": 12}, notes={"cut": 1}, warnings=("Look.",)
    ).lines()
    assert said == [
        "judge: 3 of 4 done in 1.2 s (12 verdicts)",
        "2 of them were taken over from an earlier run",
        "cut: 1",
        "warning: Look.",
    ]
    assert status(units=3, done=3).lines() == ["judge: 3 done in 1.2 s"]


def test_it_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "status.json"
    write_status(status(examples={"cut": ("é",)}), path)
    assert Status.model_validate_json(path.read_bytes()) == status(examples={"cut": ("é",)})
    assert [entry.name for entry in path.parent.iterdir()] == ["status.json"]


@pytest.mark.parametrize(
    ("content", "digest"),
    [
        (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ],
)
def test_the_digest_is_that_of_the_bytes(tmp_path: Path, content: bytes, digest: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert sha256_of(path) == digest
