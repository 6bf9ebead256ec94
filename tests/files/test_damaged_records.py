"""A damaged file of ours, of whatever kind or content, is one line that names it, and never a hang."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from tests.terminal import Ended, touche_rad
from touche_rad.demo import demo_file

DEBATES: Final = demo_file("debates.jsonl")
LABELS: Final = demo_file("labels.jsonl")
DEEP: Final = "[" * 100_000
Command = tuple[str | Path, ...]

pytestmark = pytest.mark.services  # learning weights needs scikit-learn


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a run, its shards, a judge, a tournament and an edition, in one folder."""
    place = tmp_path_factory.mktemp("made")
    lines = demo_file("claims.tsv").read_text("utf-8").splitlines(keepends=True)
    (place / "claims.tsv").write_text("".join(lines[:3]))
    for words in (
        ("judge", DEBATES, "-j", "length", "-o", "run.jsonl"),
        ("judge", DEBATES, "-j", "length", "-o", "run.jsonl", "--shard", "1/1"),
        ("train", "judge", DEBATES, LABELS, "-o", "weights.json"),
        TOURNAMENT,
        (
            "edition",
            "new",
            "edition",
            "--claims",
            "claims.tsv",
            "-i",
            "demo",
            "-d",
            "verbatim",
            "-d",
            "grounded",
            "-j",
            "length",
            "--turns",
            "1",
        ),
        ("edition", "run", "edition"),
        ("export", "autojudge", DEBATES, "-o", "reports"),
    ):
        ended = touche_rad(*words, "-q", cwd=place)
        assert ended.code == 0, ended.err
    return place


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "made"))


TOURNAMENT: Final[Command] = (
    "tournament",
    "claims.tsv",
    "-i",
    "demo",
    "-d",
    "grounded",
    "-d",
    "verbatim",
    "--rounds",
    "1",
    "-o",
    "tour",
)
PART: Final = "run.jsonl.shards/1-of-1/part.json"
MERGE: Final[Command] = ("merge", "run.jsonl.shards", "-o", "merged.jsonl")
PLAN: Final[Command] = ("plan", "--run", "run.jsonl")
VERIFY: Final[Command] = ("edition", "verify", "edition")
REPORTS: Final[Command] = ("export", "simulations", "reports/runs/debates.jsonl", "-o", "o.jsonl")

READERS: Final[dict[str, Command]] = {
    PART: MERGE,
    "run.jsonl.status.json": PLAN,
    "tour/tournament.json": TOURNAMENT,
    "tour/ratings.json": ("report", "tour", "-o", "tour.html"),
    "edition/results/record.json": VERIFY,
    "edition/SHA256SUMS": VERIFY,
    "reports/runs/debates.jsonl": REPORTS,
}


def refused(ended: Ended, name: str) -> None:
    assert ended.code in (1, 2)
    assert "internal error" not in ended.err
    assert len(ended.err.splitlines()) == 1
    assert name.removesuffix(".status.json") in ended.err


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("content", [DEEP, "\udcff", "[1]", "7", "null", ""])
def test_content_of_another_kind(folder: Path, name: str, content: str) -> None:
    (folder / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    ended = touche_rad(*READERS[name], cwd=folder)
    if ended.code:
        refused(ended, Path(name).name)
    else:  # an empty list of reports
        assert (name, content) == ("reports/runs/debates.jsonl", "")


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    ended = touche_rad(*READERS[name], cwd=folder)
    assert ended.code in (1, 2)
    assert "internal error" not in ended.err


def set_at(record: dict[str, Any], path: str, value: Any) -> None:
    *outer, last = path.split("/")
    for key in outer:
        record = record[key]
    if value is ...:
        del record[last]
    else:
        record[last] = value


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        (PART, "run", ...),
        (PART, "units", ...),
        (PART, "command", 3),
        (PART, "skipped", 1.5),
        (PART, "model", [[]]),
        (PART, "total", "x"),
        (PART, "total", {}),
        (PART, "usage", -1),
        (PART, "usage", {"total": 3}),
        (PART, "shard", [1]),
        (PART, "status", None),
        ("run.jsonl.status.json", "done", "x"),
        ("run.jsonl.status.json", "resumed", {}),
        ("run.jsonl.status.json", "usage", {"total": {"calls": "x"}}),
        ("run.jsonl.status.json", "seconds", ...),
        ("tour/tournament.json", "judging", "x"),
        ("tour/tournament.json", "playing", [3]),
        ("tour/tournament.json", "costs", {"grounded": 3}),
        ("edition/results/record.json", "outputs", 1.5),
        ("edition/results/record.json", "inputs", "x"),
        ("edition/results/record.json", "entries/judges", "x"),
        ("edition/results/record.json", "versions", ...),
    ],
)
def test_a_field_of_another_type(folder: Path, name: str, field: str, value: Any) -> None:
    record = json.loads((folder / name).read_text())
    set_at(record, field, value)
    (folder / name).write_text(json.dumps(record))
    refused(touche_rad(*READERS[name], cwd=folder), Path(name).name)


@pytest.mark.parametrize("debaters", [0, {"first": "grounded", "second": "nobody"}])
def test_debates_of_a_tournament_without_their_debaters(folder: Path, debaters: object) -> None:
    path = folder / "tour/contests.jsonl"
    first, *rest = path.read_text().splitlines()
    path.write_text(
        "\n".join([json.dumps({**json.loads(first), "debaters": debaters}), *rest]) + "\n"
    )
    refused(touche_rad(*TOURNAMENT, "-q", cwd=folder), path.name)


def test_a_restart_repairs_a_tournament_as_its_error_says(folder: Path) -> None:
    before = (folder / "tour/ratings.json").read_bytes()
    (folder / "tour/tournament.json").write_text("{")
    ended = touche_rad(*TOURNAMENT, cwd=folder)
    assert "start again with --restart" in ended.err
    ended = touche_rad(*TOURNAMENT, "--restart", cwd=folder)
    assert ended.code == 0, ended.err
    assert (folder / "tour/ratings.json").read_bytes() == before


@pytest.mark.parametrize("separator", ["\u2028", "\u0085"])
def test_reports_with_separators_of_lines_in_a_text(folder: Path, separator: str) -> None:
    path = folder / "reports/runs/debates.jsonl"
    first, *rest = path.read_text("utf-8").splitlines()
    report = json.loads(first)
    report["answer"][0]["text"] = f"One.{separator}Two."
    lines = [json.dumps(report, ensure_ascii=False), *rest]
    path.write_text("\n".join(lines) + "\n", "utf-8", newline="\n")
    ended = touche_rad(*REPORTS, cwd=folder)
    assert ended.code == 0, ended.err
