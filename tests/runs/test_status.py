from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from touche_rad.files.outputs import Status
from touche_rad.runs.fallbacks import Fallback
from touche_rad.runs.output import MOST_EXAMPLES, Done, Tally


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
