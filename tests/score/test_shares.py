"""The shares of yes of runs without labels, at the end of `judge` and from `score`."""

from __future__ import annotations

import csv
import json
import shutil
from copy import deepcopy
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.records import read_cases, read_json, read_records, write_records
from tests.report.makers import Page
from tests.score.makers import without
from tests.terminal import touche_rad
from touche_rad import frames
from touche_rad.debate import Debate, Response, Turn
from touche_rad.demo import demo_file
from touche_rad.score.conversations import DebateOfRun, topics

DEBATERS = ("grounded", "verbatim")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of two debaters on the demo's claims."""
    place = tmp_path_factory.mktemp("shares")
    for debater in DEBATERS:
        words = ("-d", debater, "-i", "demo", "-o", f"{debater}.jsonl", "-q", "--turns", "2")
        touche_rad("simulate", demo_file("claims.tsv"), *words, cwd=place)
    return place


def test_labels_on_all_turns_stay_with_their_turns() -> None:
    answered = Turn(utterance="One.", response=Response(content="No."))
    debate = Debate(claim="Zoos.", turns=(answered, Turn(utterance="Two."), answered))
    labels: list[dict[str, int | None]] = [{"quality": 0}, {}, {"quality": 1}]
    for labels_of_run in (labels, labels[::2]):
        (topic,) = topics([DebateOfRun(0, debate, labels=labels_of_run)])
        assert topic.conversations[0].labels == labels


@pytest.mark.parametrize(
    ("runs", "reason"),
    read_cases("score/runs_without_ranks_say_why.json"),
)
def test_runs_without_ranks_say_why(folder: Path, runs: str, reason: str) -> None:
    text = (folder / "grounded.jsonl").read_text()
    for claim in frames.responses(folder / "grounded.jsonl")["claim"].unique():
        text = text.replace(json.dumps(claim)[1:-1], f"Never: {claim}")
    (folder / "others.jsonl").write_text(text)
    for run in runs.split():
        debater, judge, *index = run.split(".")
        call = ["judge", f"{debater}.jsonl", "-o", run, "-q", *(["-i", *index] if index else [])]
        call += [] if judge in ("unknown", "edited") else ["-j", judge]
        touche_rad(*call, cwd=folder)
        status = folder / f"{run}.status.json"
        if judge == "edited":
            status.write_text(status.read_text().replace(run, "before"))
            (folder / run).write_text(f"{(folder / run).read_text()}\n")
        if judge == "unknown":
            status.unlink()
    ended = touche_rad("score", *runs.split(), "--pairs", cwd=folder, env={"COLUMNS": "120"})
    scored = " ".join(ended.out.split())
    assert scored.startswith(f"Not ranked: {reason}" if reason else "verbatim.length")
    code = 2 if reason else 0
    touche_rad("score", *runs.split(), "--pairs", "--csv", cwd=folder, code=code, err=reason)
    unjudged = "grounded.jsonl"
    touche_rad("report", *runs.split(), unjudged, "-o", f"{runs}.html", cwd=folder)
    (board,) = Page(folder / f"{runs}.html").data["report"]["boards"]
    assert board["title"].startswith("Not ranked: ") == bool(reason)
    assert (board["title"][:80] in scored) == bool(reason)
    assert (board["rows"][0]["place"] == "–") == bool(reason)
    assert bool(board["pairs"]) == ("over all comparisons" in scored) == (not reason)


def test_runs_without_a_status_may_be_of_several_judges(folder: Path, tmp_path: Path) -> None:
    for debater in DEBATERS:
        touche_rad("judge", f"{debater}.jsonl", "-o", tmp_path / debater, cwd=folder)
        (tmp_path / f"{debater}.status.json").unlink()
    touche_rad("score", *DEBATERS, cwd=tmp_path, out="no run has a status")
    assert "no run has a status" not in touche_rad("score", "grounded", cwd=tmp_path).out


def test_one_debater_on_two_histories_has_two_numbers_on_the_same_claims(tmp_path: Path) -> None:
    debates = read_records(demo_file("debates.jsonl"))[:2]
    write_records(tmp_path / "debates", *(row | {"id": f"d{at}"} for at, row in enumerate(debates)))
    for shape in ("responses", "simulations"):
        words = ("-i", "demo", "--as", shape, "-o", shape)
        ended = touche_rad("respond", "debates", *words, cwd=tmp_path)
        assert ("another history" in ended.err) == (shape == "simulations")
    call = ("judge", "responses", "simulations", "-o", "judged")
    assert "no claim in common" not in touche_rad(*call, cwd=tmp_path).out
    for path in (tmp_path / "judged").glob("*.jsonl"):
        assert [row["id"] for row in read_records(path)] == ["d0", "d1"]


def test_several_files_are_judged_into_a_folder_and_compared(folder: Path) -> None:
    (folder / "bad.jsonl").write_text("nonsense\n")
    call = ("judge", *(f"{name}.jsonl" for name in DEBATERS), "-o", "judged")
    (folder / "judged").mkdir()
    (folder / "judged/verbatim.jsonl").write_text("another file\n")
    touche_rad(*call, cwd=folder, code=2, err="judged/verbatim.jsonl exists already")
    (folder / "judged/verbatim.jsonl").unlink()
    status = read_json(folder / "judged/grounded.jsonl.status.json")
    judged = touche_rad(*call, "bad.jsonl", cwd=folder, code=2, err="bad.jsonl:1: ")
    assert "bad" in judged.err.splitlines()[-1]
    assert "--skip-bad" in judged.err.splitlines()[-1]
    assert judged.err.count("next: ") == 1
    assert read_json(folder / "judged/grounded.jsonl.status.json") == status, "not judged again"
    assert touche_rad("score", "judged", cwd=folder).out == judged.out
    (folder / "both").mkdir()
    for name in DEBATERS:  # a status beside a run is no run
        for ending in (".jsonl", ".jsonl.status.json"):
            shutil.copy(folder / f"{name}{ending}", folder / "both")
    assert touche_rad("judge", "both", "-o", "of-both", cwd=folder).out == judged.out
    assert (
        "--skip-bad" not in touche_rad(*call, "bad.jsonl", "--skip-bad", cwd=folder, code=None).err
    )

    scored = touche_rad("score", "judged/grounded.jsonl", "judged/verbatim.jsonl", cwd=folder)
    assert scored.out == judged.out
    assert scored.out.startswith("grounded: share of yes ")


def test_equal_names_of_files_keep_their_folders(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copy(folder / "grounded.jsonl", tmp_path / name / "run.jsonl")
    call = ("judge", "one/run.jsonl", "one/../two/run.jsonl", "-o", "all/judged")
    judged = touche_rad(*call, cwd=tmp_path)
    names = ("all/judged/one/run.jsonl", "all/judged/two/run.jsonl")
    assert touche_rad("score", *names, cwd=tmp_path).out == judged.out


def test_the_shares_are_those_of_the_verdicts_and_of_the_report(folder: Path) -> None:
    report = touche_rad("judge", "grounded.jsonl", "-o", "g.jsonl", "--json", cwd=folder).json
    rows = {row["maxim"]: row["yes"] for row in report["rows"]}
    verdicts = [
        turn["Relation"]["score"] >= 0.5
        for row in read_records(folder / "g.jsonl")
        for turn in row["userTurnsEvaluations"]
    ]
    assert rows["relation"] == pytest.approx(sum(verdicts) / len(verdicts))
    assert touche_rad("judge", "verbatim.jsonl", "-o", "v.jsonl", "-q", cwd=folder).out == ""
    shorter, *others = read_records(folder / "v.jsonl")[2:]  # a turn is missing
    shorter["simulation"]["userTurns"].pop()
    shorter["userTurnsEvaluations"].pop()
    write_records(folder / "v.jsonl", {}, shorter, *others)  # one is lost, one is missing
    record = touche_rad("score", "g.jsonl", "v.jsonl", "--json", cwd=folder).json
    assert "missing verdicts: v 4" in record["notes"]
    assert record["debates"] == {"g": "10 of 10", "v": "8 of 10"}
    touche_rad("report", "g.jsonl", "v.jsonl", "-o", "r.html", cwd=folder)
    (board,) = Page(folder / "r.html").data["report"]["boards"]
    means = {row["run"]: row["yes"] for row in record["rows"] if row["maxim"] == "mean"}
    assert {row["run"]: row["value"] for row in board["rows"]} == means


@pytest.mark.parametrize(("lost", "notes"), read_cases("score/a_turn_without_its_answer.json"))
def test_a_turn_without_its_answer_is_a_no_but_for_the_last_of_a_recorded_debate(
    folder: Path, lost: list[str], notes: list[str]
) -> None:
    first, *others = read_records(folder / "verbatim.jsonl")
    for path in lost:
        without(path)(first["simulation"])
    write_records(folder / "cut.jsonl", first, *others)
    call = ("judge", "cut.jsonl", "-o", "cut.j.jsonl", "--restart", "--replace", "--json")
    assert touche_rad(*call, cwd=folder).json["notes"][1:] == notes


def test_a_changed_claim_changes_no_other_run_and_gives_no_rank(folder: Path) -> None:
    claims = [line.partition("\t")[0] for line in demo_file("claims.tsv").read_text().splitlines()]
    all_claims = (folder / "verbatim.jsonl").read_text()
    one_claim = all_claims.replace(claims[-1], "Zoos, again.")
    again = (folder / "grounded.jsonl").read_text().replace(claims[-1], "Zoos, again.")
    for number, claim in enumerate(claims):
        all_claims = all_claims.replace(claim, f"Zoos, number {number}.")
    for name, text in (("one", one_claim), ("all", all_claims), ("again", again)):
        (folder / f"{name}.jsonl").write_text(text)
    shutil.copy(folder / "grounded.jsonl", folder / "third.jsonl")
    runs = [f"{name}.jsonl" for name in (*DEBATERS, "one", "all", "third", "again")]
    rows_of = []
    for count in (2, 4, 6):
        call = ("judge", *runs[:count], "-o", f"of{count}", "--json")
        report = touche_rad(*call, cwd=folder).json
        rows_of.append([row for row in report["rows"] if row["run"] in DEBATERS])
        assert report["claims"] == 10
    assert rows_of == rows_of[:1] * 3
    ranks = {row["run"]: row["rank"] for row in report["ranking"]}
    assert ranks["all"] is None
    assert list(ranks)[-1] == "all"
    assert report["debates"]["one"] == "9 of 10"
    checked = touche_rad(
        "check", "one.jsonl", "--input", demo_file("claims.tsv"), "--json", cwd=folder, code=None
    )
    kinds = {fault["kind"] for fault in checked.json[0]["findings"]}
    assert kinds >= {"a debate is missing", "a debate is additional"}


def test_the_input_says_which_debates_each_run_must_have(folder: Path) -> None:
    """Two runs with the same foreign claim take nothing from the others."""
    touche_rad("judge", "grounded.jsonl", "-o", "right.j.jsonl", cwd=folder)
    first, *others = read_records(folder / "right.j.jsonl")
    claims = demo_file("claims.tsv")
    write_records(folder / "less.j.jsonl", *others[1:])
    again = deepcopy(others[0])
    again["simulation"]["userTurns"][0]["utterance"] = "Once more."
    write_records(folder / "twice.j.jsonl", others[0], again, *others)
    foreign = deepcopy(first)
    foreign["simulation"]["configuration"]["topic"]["description"] = "Foreign."
    for name in ("a", "b"):
        write_records(folder / f"{name}.j.jsonl", foreign, *others)
    empty = {"simulation": {"userTurns": []}, "userTurnsEvaluations": []}
    write_records(folder / "lost.j.jsonl", *[empty] * 10)
    runs = [f"{name}.j.jsonl" for name in ("right", "a", "b", "less", "lost")]
    report = touche_rad("score", *runs, "--debates", claims, "--json", cwd=folder).json
    assert [*report["debates"].values()] == ["10 of 10", "9 of 10", "9 of 10", "8 of 10", "0 of 10"]
    lost = [write_records(folder / f"{name}.j.jsonl", {}, {}, *others[1:]) for name in "cd"]
    report = touche_rad("score", runs[0], *lost, "--json", cwd=folder).json
    assert [*report["debates"].values()] == ["10 of 10", "8 of 10", "8 of 10"]
    for name, missing in (("less", 2), ("twice", 1), ("lost", 10)):
        page = ("report", f"{name}.j.jsonl", "--debates", claims, "-o", f"{name}.html")
        warning = f"missing or lost debates, which count as no: {name}.j {missing}"
        touche_rad(*page, cwd=folder, err=warning)
    touche_rad("score", "less.j.jsonl", cwd=folder, out="--debates INPUT")


def test_fallback_answers_are_named(folder: Path) -> None:
    first, *others = read_records(folder / "verbatim.jsonl")
    first["simulation"]["userTurns"][0]["systemResponse"]["response"]["fallback"] = "timeout"
    write_records(folder / "late.jsonl", first, *others)
    touche_rad("judge", "late.jsonl", "-o", "late.j.jsonl", cwd=folder)
    warning = "late.j.jsonl: 1 of 20 answers are fallbacks"
    without_model = "grounded judged without a language model"
    touche_rad("score", "late.j.jsonl", cwd=folder, err=warning, out=without_model)
    touche_rad("report", "late.jsonl", "verbatim.jsonl", "-o", "both.html", cwd=folder)
    debates = Page(folder / "both.html").data["data-debates"]["debates"]
    # Runs and the marks of the turns: only one of two equal debates has a fallback.
    assert [(row[3], row[4] == "00") for row in debates[:2]] == [([0], False), ([1], True)]
    first["simulation"]["userTurns"][1]["systemResponse"]["utterance"] = ""
    write_records(folder / "late.jsonl", first, *others)
    for call in (
        ("judge", "late.jsonl", "-o", "late.j.jsonl", "--restart", "--replace"),
        ("score", "late.j.jsonl"),
        ("report", "late.j.jsonl", "-o", "late.html"),
    ):
        assert (
            "1 of 20 answers are fall"
            in touche_rad(*call, cwd=folder, err="1 of 20 answers are empty").err
        )
    causes = frames.responses(folder / "late.j.jsonl")["fallback"].tolist()
    assert causes == ["timeout", *[""] * 19]


def test_pairs_compare_with_a_baseline(folder: Path) -> None:
    for name in DEBATERS:
        touche_rad("judge", f"{name}.jsonl", "-o", f"{name}.j.jsonl", "-q", cwd=folder)
    runs = [f"{name}.j.jsonl" for name in DEBATERS]
    call = ("score", *runs, "--pairs", "--samples", "200")
    for baseline in (runs[1], "verbatim.j"):
        compared = touche_rad(*call, "--baseline", baseline, "--csv", cwd=folder)
        assert compared.out.count("grounded.j,verbatim.j,") == 5
    (first, second) = csv.DictReader(touche_rad(*call[:-3], "--csv", cwd=folder).out.splitlines())
    assert (first["rank"], first["debates"], first["p_holm"]) == ("1", "10 of 10", "")
    assert float(second["mean"]) > float(second["mean_low"])
    assert 0 < float(second["p_holm"]) <= 1
    touche_rad("report", *runs, "-o", "page.html", cwd=folder)
    (board,) = Page(folder / "page.html").data["report"]["boards"]
    assert "rank,run,baseline,debates,p_holm,mean," in unquote(board["tables"][0]["csv"])
    near = "(did you mean 'verbatim.j.jsonl'?)"
    touche_rad(*call, "--baseline", "verbatin.j", cwd=folder, code=2, err=near)
    shown = touche_rad(*call, "--baseline", "verbatim.j", cwd=folder).out
    assert "* baseline, without a rank." in shown
    assert "over all comparisons of the measure that ranks" in shown


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["grounded.jsonl"], "touche-rad judge makes them"),
        (["e.jsonl", "--correct"], "--correct is not for runs without labels"),
        (["e.jsonl", "grounded.jsonl"], "the last file must be"),
        (["empty"], "expected a folder with runs"),
        ([str(demo_file("labels.jsonl")), "e.jsonl"], "the last file must be the labels"),
    ],
)
def test_what_has_no_shares_is_refused(folder: Path, words: list[str], part: str) -> None:
    touche_rad("judge", "grounded.jsonl", "-o", "e.jsonl", "-q", cwd=folder)
    (folder / "empty").mkdir(exist_ok=True)
    refused = touche_rad("score", *words, cwd=folder, code=None)
    assert refused.code in (1, 2)
    assert part in " ".join(refused.err.split())
