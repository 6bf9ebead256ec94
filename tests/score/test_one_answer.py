"""Commands, pages, files and frames give one answer to a question about the same runs."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.demo import CLAIMS, DEBATES, LABELS
from tests.records import write_lines
from tests.report.makers import Page
from tests.terminal import touche_rad
from touche_rad import frames


def damage(run: Path) -> None:
    """Write copies of a run: one lacks a debate, one has lost it and has another order."""
    lines = run.read_text("utf-8").splitlines(keepends=True)
    run.with_stem("short").write_text("".join(lines[1:]), "utf-8")
    run.with_stem("lost").write_text("".join(["{}\n", *lines[:0:-1]]), "utf-8")


@pytest.fixture(scope="module")
def debaters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("debaters")
    for name in ("whole", "second"):
        debater = "grounded" if name == "whole" else "verbatim"
        touche_rad(f"simulate -d {debater} -i demo -o played/{name}.jsonl -q", CLAIMS, cwd=place)
    damage(place / "played/second.jsonl")
    for name in ("whole", "short", "lost"):
        touche_rad(f"judge played/{name}.jsonl -i demo -o {name}.jsonl", cwd=place)
    touche_rad("dataset debaters -o dataset -q", CLAIMS, cwd=place)
    return place


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("judges")
    for name, judge in {"whole": "grounded", "second": "length"}.items():
        touche_rad(f"judge -j {judge} -i demo -o played/{name}.jsonl -q", DEBATES, cwd=place)
    damage(place / "played/second.jsonl")
    for name in ("whole", "short", "lost"):
        (place / f"{name}.jsonl").symlink_to(f"played/{name}.jsonl")
    touche_rad("dataset judges -o dataset -q", DEBATES, LABELS, cwd=place)
    for given in (DEBATES, LABELS):
        shutil.copy(given, place)
    return place


def mean_of(report: Any, run: str, measure: str) -> list[float]:
    """Return the mean of a run with its interval."""
    means = {row["run"]: row for row in report["rows"] if row["maxim"] == "mean"}
    return [means[run][key] for key in (measure, "low", "high")]


@pytest.mark.parametrize(
    ("kind", "measure", "truth"),
    [
        ("debaters", "yes", ("--debates", CLAIMS)),
        ("judges", "f1", ("labels.jsonl", "--debates", "debates.jsonl")),
    ],
)
def test_a_question_has_one_answer_in_all_places(
    request: pytest.FixtureRequest, kind: str, measure: str, truth: tuple[str | Path, ...]
) -> None:
    """The questions: a run's mean, interval and rank, its debates by name, and its turns."""
    folder: Path = request.getfixturevalue(kind)
    runs = ("whole.jsonl", "short.jsonl", "lost.jsonl")
    scored = touche_rad("score --json", *runs, *truth, cwd=folder).json
    ranks = {row["run"]: row["rank"] for row in scored["ranking"]}
    text = touche_rad("score", *runs, *truth, cwd=folder).out
    lines = touche_rad("score --csv", *runs, *truth, cwd=folder).out.splitlines()
    table = {row["run"]: row for row in csv.DictReader(lines)}
    labels = ("--labels", *truth) if kind == "judges" else truth
    touche_rad("report -o page.html", *runs, *labels, cwd=folder)
    page = Page(folder / "page.html").data
    (board,) = page["report"]["boards"]
    on_page = {row["run"]: row for row in board["rows"]}
    for name in map(Path, runs):
        run = name.stem
        answer = mean_of(scored, run, measure)
        sizes = [scored[what] for what in ("debates", "turns")]
        if kind == "debaters":
            sizes = [of_runs[run] for of_runs in sizes]
        assert [table[run]["debates"], table[run]["turns"]] == list(map(str, sizes))
        size = "{} debates, {} " + ("turns" if kind == "debaters" else "labelled turns")
        touche_rad("score", name, *truth, cwd=folder, out=size.format(*sizes))
        assert str(sizes[0]) in (on_page[run]["cells"] if kind == "debaters" else board["note"])
        lines = touche_rad("score --per debate", *runs, *truth, cwd=folder).out.splitlines()
        counted = list(csv.DictReader(lines))
        records = [counted]
        alone = touche_rad("score --json", name, *truth, cwd=folder).json
        assert mean_of(alone, run, measure) == answer
        keys = ("mean" if measure == "yes" else "mean_f1", "mean_low", "mean_high")
        assert [float(table[run][key]) for key in keys] == answer
        assert [on_page[run][key] for key in ("value", "low", "high")] == answer
        assert on_page[run]["rank"] == ranks[run] == int(table[run]["rank"])
        shown = [f"{value:.3f}".removeprefix("0") for value in answer]
        line = rf"^ *≈?(\d+) +{run} +(\S+) +\[(\S+), (\S+)\]"
        assert re.findall(line, text, re.M) == [(table[run]["rank"], *shown)]
        if (kind, run) != ("judges", "short"):  # which the official evaluator of judges refuses
            (folder / run).mkdir()
            shutil.copy(folder / "played" / name, folder / run)
            words = f"dataset evaluate {run} dataset/truths -i demo -o {run}/scores"
            touche_rad(words, cwd=folder, out=f"over {sizes[1]} ")
            official = (folder / run / "scores/evaluation.prototext").read_text()
            assert float(re.findall(r'"mean(?: f1)?"\n value: "(.+)"', official)[0]) == answer[0]
        if kind == "debaters":
            verdicts = frames.verdicts(*(folder / other for other in runs))
            yes = verdicts[verdicts["run"] == run]["yes"]
            assert [yes.mean(), len(yes)] == [pytest.approx(answer[0]), 4 * sizes[1]]
            turns = [row["yes_of"] for row in counted if row["run"] == run]
            assert turns == ["5"] * 40, "each claim has its own rows, one for each criterion"
            records.append(verdicts.to_dict("records"))
        for rows in records:
            named = [(row["debate"], row["claim"]) for row in rows if row["run"] == run]
            names = {f"{debate.removeprefix('debate-')}. {claim}" for debate, claim in named}
            assert names == {*page["data-debates"]["claims"]}


def test_missing_and_lost_debates_are_counted_alike(debaters: Path) -> None:
    """The files and the badges of a report have as many, with verdicts or without."""
    # Without the input, another run tells what is missing.
    for folder, truth in (("", CLAIMS), ("played/", CLAIMS), ("played/", None)):
        runs = [f"{folder}{run}.jsonl" for run in ("whole", "short", "lost")]
        words = (*runs, "--debates", truth) if truth else runs[:2]
        touche_rad("report -o page.html --replace", *words, cwd=debaters)
        report = Page(debaters / "page.html").data["report"]
        if truth and not folder:
            scored = touche_rad("score", *words, cwd=debaters)
            assert "lost: the order is not the input's" in scored.out + scored.err
        # The lost one is in another order, too, which the input tells.
        listed = [row[-1] for row in report["files"]["rows"]]
        assert listed == [1, 1, 2][: len(words)], "in the whole one, an answer has no argument"
        texts = " ".join(fault[2] for fault in report["faults"])
        assert "1 missing debate (on no line): " in texts
        assert ("1 lost debate (on an empty or invalid line): " in texts) == bool(truth)
        assert report["badges"].pop("whole") == "1 fault: 1 no-argument response"
        kinds = re.compile("1 (missing or lost|missing|lost) debate")
        assert all(map(kinds.search, report["badges"].values()))


def test_debates_that_two_runs_lost_in_different_places_count_in_both(debaters: Path) -> None:
    lines = (debaters / "whole.jsonl").read_text("utf-8").splitlines()
    write_lines("other.jsonl", [*lines[:-1], "{}"])
    assert (
        touche_rad("score --csv", debaters / "lost.jsonl", "other.jsonl").out.count("9 of 10") == 2
    )


def test_a_folder_with_a_run_that_is_not_finished_says_so(debaters: Path) -> None:
    Path("runs").mkdir()
    shutil.copy(debaters / "whole.jsonl", "runs")
    Path("runs/other.jsonl.part").touch()
    for command in ("score runs", "report runs"):
        unfinished = "runs/other.jsonl.part: a run that is not finished"
        ended = touche_rad(command)
        assert unfinished in ended.out + ended.err
