"""A file of ours that a newer version made is refused in one line; without a format it is read."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.records import read_json, read_records, read_status, write_records
from tests.refusals import expect_error
from tests.terminal import Ended, touche_rad
from touche_rad.demo import demo_file
from touche_rad.files.append_log import AppendLog
from touche_rad.runs.journal import RUN
from touche_rad.training.folder import TrainingFolder

CLAIMS, DEBATES = demo_file("claims.tsv"), demo_file("debates.jsonl")
NEWER = 99


def write(path: Path, record: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_records(path, record)


def set_format(path: Path) -> Path:
    return write(path, {**read_json(path), "format": NEWER})


def beside_a_run(place: Path, suffix: str, record: object) -> Path:
    run = Path(shutil.copy(DEBATES, place / "run.jsonl"))
    write(place / f"run.jsonl{suffix}", record)
    return run


def status(place: Path, index: Path) -> Ended:
    record = {"format": NEWER, "output": "run.jsonl"}
    return touche_rad("check", beside_a_run(place, ".status.json", record), code=2)


def journal(place: Path, index: Path) -> Ended:
    AppendLog(place / "run.jsonl.part", replace(RUN, format=NEWER)).close()
    return touche_rad("simulate", CLAIMS, "-i", index, "-o", place / "run.jsonl", code=2)


def trace(place: Path, index: Path) -> Ended:
    run = beside_a_run(place, ".trace.jsonl", {"format": NEWER, "plugin": "x"})
    return touche_rad("report", run, "-o", place / "report.html", code=2)


def tournament(place: Path, index: Path) -> Ended:
    ratings = write(place / "ratings.json", {"format": f"touche-rad tournament {NEWER}"})
    return touche_rad("report", ratings, "-o", place / "report.html", code=2)


def cache(place: Path, index: Path) -> Ended:
    (place / "cache").mkdir()
    with sqlite3.connect(place / "cache" / "answers.sqlite") as database:
        database.execute(f"PRAGMA user_version={NEWER}")
    words = ("-d", "sinai", "-m", "scripted:said.jsonl", "--cache", place / "cache")
    (place / "said.jsonl").write_text('{"answer": "yes"}\n')
    return touche_rad("respond", "--say", "Zoos.", "-i", "demo", *words, cwd=place, code=2)


def index_folder(place: Path, index: Path) -> Ended:
    shutil.copytree(index, place / "index")
    set_format(place / "index" / "manifest.json")
    return touche_rad("respond", "--say", "Zoos are bad.", "-i", place / "index", code=2)


def contests(place: Path, index: Path) -> Ended:
    path = set_format(write(place / "contests.jsonl", _first(demo_file("contests.jsonl"))))
    return touche_rad("report", path, "-o", place / "report.html", code=2)


def outcomes(place: Path, index: Path) -> Ended:
    path = write(place / "x.jsonl", {"format": NEWER, "id": "1", "outcome": {"winner": None}})
    return touche_rad("report", path, "-o", place / "report.html", code=2)


def _first(path: Path) -> object:
    return read_records(path)[0]


READERS = (status, journal, trace, tournament, cache, index_folder, contests, outcomes)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_newer_file_is_refused_in_one_line(
    tmp_path: Path, demo_index_path: Path, reader: Callable[[Path, Path], Ended]
) -> None:
    ended = reader(tmp_path, demo_index_path)
    assert "(format 99;" in ended.err
    assert ended.err.endswith("upgrade touche-rad\n")


@pytest.mark.parametrize("name", ["training.json", "report.json"])
def test_a_training_of_a_newer_version_is_refused(tmp_path: Path, name: str) -> None:
    folder = TrainingFolder(tmp_path)
    folder.start_or_resume({"recipe": {"base": "x"}})
    folder.finish({"recipe": {"base": "x"}})
    assert folder.start_or_resume({"recipe": {"base": "x"}})
    assert folder.finished() is not None
    set_format(Path(name))
    with expect_error(rf"\(format {NEWER};"):
        _ = folder.start_or_resume({"recipe": {"base": "x"}}), folder.finished()


def test_files_of_ours_carry_a_format() -> None:
    answers = Path("said.jsonl")
    answers.write_text('{"answer": {"number": 1}}\n')
    out = "run.jsonl"
    words = ("simulate", CLAIMS, "-i", "demo", "--turns", "1", "-m", f"scripted:{answers}")
    touche_rad(*words, "-o", out)
    assert read_status("run.jsonl")["format"] == 2
    assert {call["format"] for call in read_records("run.jsonl.trace.jsonl")} == {1}
    both = Path("contests.jsonl")
    words = ("simulate", CLAIMS, "-d", "verbatim", "-i", "demo", "--both-sides")
    touche_rad(*words, "-o", both)
    assert {game["format"] for game in read_records(both)} == {1}
