"""Two annotators: agreement, disagreements, and how they are settled."""

from __future__ import annotations

import random
import re

import krippendorff
import numpy as np
import pytest

from tests.labelling.makers import answer, open_session, write_run
from tests.records import read_records, write_records
from tests.refusals import expect_error
from tests.terminal import touche_rad_process
from touche_rad.debate import Maxim
from touche_rad.labelling.agreement import agreement
from touche_rad.labelling.exchanges import TurnPlace
from touche_rad.labelling.session import LabelSession
from touche_rad.score import confusion


def open_after_two() -> LabelSession:
    """Ana labels four turns; Ben differs on two labels of Quality and does not know one."""
    run = write_run()
    for name, labels in (("ana", (1, 1, 0, 0)), ("ben", (1, 0, 1, None))):
        rows = [(TurnPlace(at, 0), Maxim.QUALITY, label) for at, label in enumerate(labels)]
        answer(run, rows, name)
    return open_session(run, annotator="cem")


@pytest.mark.parametrize("seed", range(20))
def test_alpha_is_the_krippendorff_librarys(seed: int) -> None:
    chance = random.Random(seed)
    rows = [[chance.choice((0, 1, 1, 2, None)) for _ in range(30)] for _ in range(3)]
    units = [[label for label in unit if label is not None] for unit in zip(*rows, strict=True)]
    data = [[float("nan") if label is None else label for label in row] for row in rows]
    table = confusion.coincidences(units, 3)
    squares = np.subtract.outer(np.arange(3.0), np.arange(3.0)) ** 2
    for level, apart in (("nominal", 1 - np.eye(3)), ("interval", squares)):
        reference = krippendorff.alpha(data, level_of_measurement=level)
        assert confusion.alpha(table, apart) == pytest.approx(reference)


def test_a_disagreement_is_null_until_it_is_settled_and_the_originals_stay() -> None:
    session = open_after_two()
    quality = next(row for row in agreement(session.study).pairs if row.maxim == Maxim.QUALITY)
    assert quality.turns == 3  # where both know
    assert session.study.open_disagreements() == [
        (TurnPlace(1, 0), Maxim.QUALITY),
        (TurnPlace(2, 0), Maxim.QUALITY),
    ]
    session.write()
    before = [turns[0]["quality"] for turns in read_records(session.output)]
    assert before == [1, None, None, 0]
    session.answer(TurnPlace(1, 0), Maxim.QUALITY, 0, settle=True)
    session.write()
    turn = read_records(session.output)[1][0]
    assert turn["quality"] == 0
    assert turn["settled"] == {"quality": {"label": 0, "by": "cem"}}
    assert turn["annotators"] == {"ana": {"quality": 1}, "ben": {"quality": 0}}
    assert session.study.open_disagreements() == [(TurnPlace(2, 0), Maxim.QUALITY)]
    session.undo()
    assert len(session.study.open_disagreements()) == 2


def test_another_annotators_file_is_compared() -> None:
    run = write_run()
    official = [[{"quality": 1}] + [{}] * 2, [{"quality": 0}] + [{}] * 2, [{}] * 3, [{}] * 3]
    labels = write_records("ben.labels.jsonl", *official)
    session = open_session(run, others=[labels])
    for number in range(4):
        session.answer(TurnPlace(number, 0), Maxim.QUALITY, 1)
    row = next(row for row in agreement(session.study).pairs if row.maxim == Maxim.QUALITY)
    assert row.turns == 2
    assert row.same == 0.5
    assert {row.first, row.second} == {"ana", "ben"}
    session.write()
    labels_of_both = read_records(session.output)
    # Without --with, nothing of ben is lost, and he is no annotator of a taken-back answer.
    session.log.close()
    without = open_session(run, annotator="cem")
    assert without.study.answers == session.study.answers
    without.answer(TurnPlace(1, 0), Maxim.QUALITY, 1)
    without.undo()
    without.write()
    assert read_records(session.output) == labels_of_both
    without.log.close()
    with expect_error("ben"):
        open_session(run, annotator="ben")
    again = open_session(run, output="mine.jsonl", annotator="dan", others=[session.output])
    assert set(again.study.annotators) == {"ana", "ben"}


def test_a_file_of_another_run_and_a_second_ana_are_refused() -> None:
    run = write_run()
    with expect_error("expected 4"):
        open_session(run, others=[write_records("ben.jsonl", [{"quality": 1}])])
    mine = write_records("ana.jsonl", *[[{"quality": 1}] * 3] * 4)
    with expect_error("ana"):
        open_session(run, output="second.jsonl", others=[mine])


def test_labels_of_hundreds_of_annotators_are_compared() -> None:
    run = write_run()
    turn = {"annotators": {f"person {number}": {"quality": number % 2} for number in range(300)}}
    labels = write_records("crowd.jsonl", *[[turn] * 3] * 4)
    words = ("label", run, "-o", "labels.jsonl", "--with", labels, "--summary")
    summary = touche_rad_process(*words, timeout=60).out
    assert "no kappa of pairs: there are more than 30 annotators" in summary
    assert re.search(r"quality +12 .*\n(.*\n)*disagreements that are not settled: 12", summary)
