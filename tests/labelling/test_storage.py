"""Answers on the disk: the log, undo, torn writes, and the labels file that other commands read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.labelling.makers import TURNS, open_session, write_run, write_verdicts
from tests.records import read_cases, read_records
from tests.refusals import expect_error
from touche_rad.debate import Maxim
from touche_rad.files.append_log import AppendLog, checked_line
from touche_rad.labelling.exchanges import TurnPlace
from touche_rad.labelling.session import LABELS, LabelSession

QUANTITY, QUALITY, RELATION, MANNER = Maxim


@pytest.fixture
def run() -> Path:
    return write_run()


def reopen(session: LabelSession, run: Path) -> LabelSession:
    """Close a session, and open its file again."""
    session.log.close()
    return open_session(run)


def test_answers_and_undo_survive_a_new_start(run: Path) -> None:
    session = open_session(run)
    place = session.queue[0]
    session.answer(place, QUANTITY, 1)
    session.answer(place, QUANTITY, 0)
    session.answer(place, QUALITY, None)
    session.undo()
    again = reopen(session, run)
    assert again.study.answers["ana"][place] == {QUANTITY: 0}
    again.undo()  # undo goes on after a restart
    assert again.study.answers["ana"][place] == {QUANTITY: 1}
    again.undo()
    assert again.undo() is None
    assert again.study.answers["ana"] == {}


def test_it_reopens_at_the_first_open_turn(run: Path) -> None:
    session = open_session(run)
    for number in (0, 1, 3):
        for maxim in Maxim:
            session.answer(session.queue[number], maxim, 1)
    session.answer(session.queue[2], QUANTITY, 1)
    assert reopen(session, run).first_open() == 2


OLD = """\
{"format":1,"kind":"labelling","run":"run.jsonl","digest":\
"6088236330700f7d65a15040dff44cadadbe054c7650b4adc9361553a95a5d24","seed":0,"random_share":0.3,\
"queue":[[2,1,"random",0.5],[0,0,"random",0.1]]}
{"at":"2026-01-01T00:00:00.000+00:00","by":"ana","debate":2,"turn":1,"maxim":"quantity","label":1,\
"sample":"random"}
{"at":"2026-01-01T00:00:01.000+00:00","by":"ana","debate":2,"turn":1,"maxim":"manner","label":0,\
"sample":"random"}
{"by":"ana","undo":true}
"""


def test_a_log_of_an_earlier_version_goes_on(run: Path) -> None:
    log = Path("labels.jsonl.log")
    log.write_text(OLD)
    session = open_session(run)
    place = TurnPlace(2, 1)
    assert session.queue == [place, TurnPlace(0, 0)]
    assert session.study.answers["ana"][place] == {QUANTITY: 1}
    session.answer(place, RELATION, 0)
    again = reopen(session, run)
    assert again.study.answers["ana"][place] == {QUANTITY: 1, RELATION: 0}
    assert log.read_text().startswith(OLD)


def test_a_damaged_line_is_kept_and_reported(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    session = open_session(run)
    place = session.queue[0]
    for maxim in Maxim:
        session.answer(place, maxim, 1)
    damaged = session.log.path.read_bytes().replace(b'"maxim":"quality"', b'"maxim":"quantity"')
    damaged += b'{"by":"ana","x":' + b"[" * 100_000 + b"\n"
    session.log.path.write_bytes(damaged)
    again = reopen(session, run)
    left = {QUANTITY: 1, RELATION: 1, MANNER: 1}
    assert again.study.answers["ana"][place] == left
    assert f"{again.log.path}:3 " in caplog.text
    again.answer(place, QUALITY, 0)
    assert again.log.path.read_bytes().startswith(damaged)
    assert reopen(again, run).study.answers["ana"][place] == {**left, QUALITY: 0}


def test_a_log_of_another_run_is_refused(run: Path) -> None:
    session = open_session(run)
    session.log.close()
    other_run = write_run("other.jsonl", 5)
    text = session.log.path.read_text()
    session.log.path.write_text(f'{text}{{"at":')
    with expect_error("digest"):
        open_session(other_run)
    assert session.log.path.read_text() == f'{text}{{"at":', "nothing is cut"


def test_the_labels_file_has_all_turns_and_no_unfinished_answer_becomes_a_no() -> None:
    run = write_run(lost=[1])
    session = open_session(run)
    session.answer(TurnPlace(2, 1), QUANTITY, 1)
    session.answer(TurnPlace(2, 1), MANNER, None)
    session.write()
    rows = read_records(session.output)
    assert [len(row) for row in rows] == [TURNS, 0, TURNS, TURNS]
    nothing = dict.fromkeys(map(str, Maxim))
    assert rows[2][1] == {
        **nothing,
        "quantity": 1,
        "annotators": {"ana": {"quantity": 1, "manner": None}},
    }
    assert [turn for row in rows for turn in row].count(nothing) == 3 * TURNS - 1


def test_a_verdict_in_the_run_is_no_part_of_its_identity(run: Path) -> None:
    first = write_verdicts("a.jsonl", run, [0.1] * 12)
    second = write_verdicts("b.jsonl", run, [0.9] * 12)
    session = open_session(first)
    assert reopen(session, second).queue == session.queue


def test_a_finished_queue_reopens_at_its_last_turn(run: Path) -> None:
    session = open_session(run)
    for place in session.queue:
        for maxim in Maxim:
            session.answer(place, maxim, 1)
    assert session.done() == len(session.queue)
    assert session.first_open() == len(session.queue) - 1


def test_the_labels_file_is_written_only_after_a_new_answer(run: Path) -> None:
    session = open_session(run)
    session.write()
    session.output.unlink()
    session.write()
    assert not session.output.exists()
    session.answer(session.queue[0], QUALITY, 1)
    session.write()
    assert session.output.exists()


FORGED = read_cases("labelling/forged.json")


@pytest.mark.parametrize("change", FORGED["events"])
def test_an_event_that_is_none_is_named(run: Path, change: dict[str, object]) -> None:
    session = open_session(run)
    session.answer(session.queue[0], QUANTITY, 1)
    (answer,) = session.log.entries()
    session.log.append({**answer.record, **change})
    (field,) = change
    with expect_error(rf"labels\.jsonl\.log:3: {field}: "):
        reopen(session, run)


@pytest.mark.parametrize("queue", FORGED["queues"])
def test_a_queue_of_other_turns_is_refused(run: Path, queue: object) -> None:
    session = open_session(run)
    session.log.close()
    session.log.path.unlink()
    AppendLog(session.log.path, LABELS, {**session.log.header, "queue": queue}).close()
    with expect_error("first line"):
        open_session(run)


def test_a_long_log_is_read_quickly(run: Path) -> None:
    session = open_session(run)
    session.answer(session.queue[0], QUANTITY, 1)
    (answer,) = session.log.entries()
    changes = [{}] * 20_000 + [{"by": "ben", "undo": True}] * 3_000
    with session.log.path.open("ab") as stream:
        stream.writelines(checked_line({**answer.record, **change}) for change in changes)
    begun = time.monotonic()
    reopen(session, run)
    assert time.monotonic() - begun < 20
