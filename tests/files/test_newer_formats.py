"""A file of ours that a newer version made is refused in one line; without a format it is read."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.demo import CLAIMS, CONTESTS, DEBATES
from tests.records import read_json, read_records, read_status, write_records
from tests.refusals import expect_error
from tests.terminal import Ended, touche_rad
from touche_rad.files.append_log import AppendLog
from touche_rad.runs.journal import RUN
from touche_rad.training.folder import TrainingFolder

NEWER = 99


def write(path: str | Path, record: object) -> Path:
    return write_records(path, record)


def set_format(path: Path) -> Path:
    return write(path, {**read_json(path), "format": NEWER})


def beside_a_run(suffix: str, record: object) -> Path:
    run = Path(shutil.copy(DEBATES, "run.jsonl"))
    write(f"run.jsonl{suffix}", record)
    return run


def status(index: Path) -> Ended:
    record = {"format": NEWER, "output": "run.jsonl"}
    run = beside_a_run(".status.json", record)
    return touche_rad("simulate --replace -o", run, CLAIMS, "-i", index, code=2)


def journal(index: Path) -> Ended:
    AppendLog(Path("run.jsonl.part"), replace(RUN, format=NEWER)).close()
    return touche_rad("simulate -o run.jsonl", CLAIMS, "-i", index, code=2)


def trace(index: Path) -> Ended:
    run = beside_a_run(".trace.jsonl", {"format": NEWER, "plugin": "x"})
    return touche_rad("report -o report.html", run, code=2)


def tournament(index: Path) -> Ended:
    ratings = write("ratings.json", {"format": f"touche-rad tournament {NEWER}"})
    return touche_rad("report -o report.html", ratings, code=2)


def many_digits(index: Path) -> Ended:
    ratings = write("ratings.json", {"format": f"touche-rad tournament {'9' * 5_000}"})
    return touche_rad("report -o report.html", ratings, code=2)


def cache(index: Path) -> Ended:
    Path("cache").mkdir()
    with sqlite3.connect("cache/answers.sqlite") as database:
        database.execute(f"PRAGMA user_version={NEWER}")
    Path("said.jsonl").write_text('{"answer": "yes"}\n')
    line = "respond --say Zoos. -i demo -d sinai -m scripted:said.jsonl --cache cache"
    return touche_rad(line, code=2)


def index_folder(index: Path) -> Ended:
    shutil.copytree(index, "index")
    set_format(Path("index/manifest.json"))
    return touche_rad('respond --say "Zoos are bad." -i index', code=2)


def contests(index: Path) -> Ended:
    path = set_format(write("contests.jsonl", _first(CONTESTS)))
    return touche_rad("report -o report.html", path, code=2)


def outcomes(index: Path) -> Ended:
    path = write("x.jsonl", {"format": NEWER, "id": "1", "outcome": {"winner": None}})
    return touche_rad("report -o report.html", path, code=2)


def _first(path: Path) -> object:
    return read_records(path)[0]


READERS = (status, journal, trace, tournament, many_digits, cache, index_folder, contests, outcomes)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_newer_file_is_refused_in_one_line(
    demo_index_path: Path, reader: Callable[[Path], Ended]
) -> None:
    ended = reader(demo_index_path)
    assert "(format 99" in ended.err
    assert ended.err.endswith("upgrade touche-rad\n")


@pytest.mark.parametrize("name", ["training.json", "report.json"])
def test_a_training_of_a_newer_version_is_refused(name: str) -> None:
    folder = TrainingFolder(Path())
    folder.start_or_resume({"recipe": {"base": "x"}})
    folder.finish({"recipe": {"base": "x"}})
    assert folder.start_or_resume({"recipe": {"base": "x"}})
    assert folder.finished() is not None
    set_format(Path(name))
    with expect_error(rf"\(format {NEWER};"):
        _ = folder.start_or_resume({"recipe": {"base": "x"}}), folder.finished()


def test_files_of_ours_carry_a_format() -> None:
    Path("said.jsonl").write_text('{"answer": {"number": 1}}\n')
    touche_rad(f"simulate {CLAIMS} -i demo --turns 1 -m scripted:said.jsonl -o run.jsonl")
    assert read_status("run.jsonl")["format"] == 2
    assert {call["format"] for call in read_records("run.jsonl.trace.jsonl")} == {1}
    touche_rad(f"simulate {CLAIMS} -d verbatim -i demo --both-sides -o contests.jsonl")
    assert {game["format"] for game in read_records("contests.jsonl")} == {1}
