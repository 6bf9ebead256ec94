"""The report: its words, its data, and nothing of the debates' text taken for markup."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cases import with_cases
from tests.demo import ARGUMENTS, CLAIMS, DEBATES, LABELS
from tests.records import read_records, read_status, write_lines, write_records
from tests.refusals import expect_error
from tests.report.makers import (
    NASTY,
    NASTY_DEBATES,
    Page,
    check_page,
    make_debate,
    write_evaluations,
)
from tests.screens import check_messages
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import NOTHING_FOUND, Maxim
from touche_rad.pages import rendering
from touche_rad.report import write_report
from touche_rad.score.reference import Policy
from touche_rad.score.words import probability

SCRIPTS = len(rendering.SCRIPTS) + 7


def simulate(debater: str, turns: int = 1, seed: int = 0) -> Path:
    """Let a debater answer the demo's claims."""
    run = Path(f"{debater}{seed or ''}.jsonl")
    words = f"simulate -i demo -d {debater} --turns {turns} --seed {seed} -o {run} -q"
    touche_rad(words, CLAIMS)
    return run


def judge(run: Path, judge_name: str, out: Path, *options: str) -> Path:
    touche_rad("judge", run, "-j", judge_name, *options, "-o", out, "-q")
    return out


def report_page(runs: Sequence[Path], **options: Any) -> Page:
    """Write a report of runs into one file, and read it."""
    return Page(write_report(runs, Path("r.html"), **options).page)


def read_demo_debates() -> list[Any]:
    return list(files.read_debates(DEBATES))


def test_the_page_says_how_judges_differ() -> None:
    out = Path("report.html")
    yes_and_no = [
        write_evaluations("yes.jsonl", read_demo_debates(), 0.9),
        write_evaluations("no.jsonl", read_demo_debates(), 0.1),
    ]
    assert write_report(yes_and_no, out, labels=LABELS).page == out
    check_page("two-judges", out)


def test_scores_and_reasons_of_each_judge_are_beside_the_turn() -> None:
    run = write_evaluations("a.jsonl", [make_debate(("U", "S.", "t"))], 0.25)
    ((turn,),) = report_page([run]).data["part-d0"]
    assert turn["judged"] == [[0, [0.25] * 4, [f"as {maxim} goes" for maxim in Maxim]]]


def test_a_run_that_lacks_a_line_shows_the_labels_of_its_own_debates() -> None:
    debates = read_demo_debates()
    complete = write_evaluations("complete.jsonl", debates, 0.9)
    short = write_evaluations("short.jsonl", debates[1:], 0.1)
    labels = Path("labels.jsonl")  # without the debates beside it
    labels.write_bytes(LABELS.read_bytes())
    # As many debates, but not those of the labels.
    other = write_evaluations("a.jsonl", [make_debate(("U", "S.", "t"))] * 20)
    page = report_page([other, complete, short], labels=labels)
    expected = []
    for turns in files.read_labels(LABELS):
        labels = [turn.get(maxim) for turn in turns for maxim in Maxim]
        expected.append("".join("-" if label is None else "ny"[label] for label in labels))
    shown = [debate[8] for debate in page.data["data-debates"]["debates"]]
    assert sorted(filter(None, shown)) == sorted(expected)


def test_labels_are_matched_by_the_debates_that_are_given() -> None:
    write_evaluations("run.jsonl", read_demo_debates()[1:], 0.9)
    shutil.copy(LABELS, "truth.jsonl")
    words = "report run.jsonl --labels truth.jsonl -o r.html --debates"
    touche_rad(words, DEBATES, err="missing debate")
    assert Page(Path("r.html")).data["report"]["badges"]["run"] == "1 fault: 1 missing debate"


def test_a_folder_has_the_same_data_in_files() -> None:
    debates = []
    for at in range(5):
        debates.append(make_debate(*((f"{at}{turn}", "x" * 30_000, "t") for turn in range(5))))
    run = write_evaluations("run.jsonl", debates)
    one_file = report_page([run])
    summary = write_report([run], Path("many"))
    assert summary.page == Path("many/index.html")
    index = Page(summary.page)
    parts = {name: part for name, part in one_file.data.items() if name.startswith("part-")}
    assert len(parts) > 1
    assert not any(name.startswith("part-") for name in index.data)
    for part_name, value in parts.items():
        name = part_name.removeprefix("part-")
        script = Path("many/data", f"{name}.js").read_text("utf-8")
        assert script.startswith(f'radPart("{name}",')
        assert json.loads(script.removeprefix(f'radPart("{name}",').removesuffix(");\n")) == value
    assert "'self'" in index.policy
    assert "'self'" not in one_file.policy


def test_turns_are_marked() -> None:
    long = "Elephants never forget the moon. " * 13
    debate = make_debate(("U1", long, "Zoos."), ("V", NOTHING_FOUND, "")).with_utterance("U2")
    run = write_lines("sim.jsonl", [files.simulation_line(debate)])
    page = report_page([run])
    marks = page.data["data-debates"]["debates"][0][4]
    assert marks == "3@8", "long and not supported; no argument; unanswered"
    none = ["sim", 1, "no-argument responses: 1", "#debates&mark=nothing&run=sim"]
    assert none in page.data["report"]["faults"]


def test_nothing_is_fetched_and_no_text_becomes_markup() -> None:
    run = write_evaluations("nasty.jsonl", NASTY_DEBATES)
    page = report_page([run], title=NASTY[0])
    assert page.tags.count("script") == SCRIPTS + len(page.data), "scripts of ours, and data"
    assert not {"img", "iframe", "object"} & set(page.tags)
    loaded = [value or "" for key, value in page.attributes if key in ("src", "href", "action")]
    assert all(value.startswith(("#", "data:,", "data:text/csv")) for value in loaded)
    assert not any(key.startswith("on") for key, _ in page.attributes)
    assert "default-src 'none'" in page.policy


def test_runs_that_differ_only_in_the_seed_are_named() -> None:
    runs = [simulate("grounded", seed=1), simulate("grounded", seed=2), simulate("verbatim")]
    Path("judged").mkdir()
    judged = [judge(run, "length", Path("judged", run.name)) for run in runs]
    chance = "is chance: grounded1 and grounded2"
    assert chance in report_page(judged).words
    touche_rad("score", *judged, err=chance)


def test_runs_are_called_by_their_files_with_their_plugins_below() -> None:
    runs = []
    for name, debater in (("team1", "grounded"), ("team2", "verbatim")):
        run = simulate(debater, turns=2)
        status = read_status(run)
        status["identity"]["index"] = f"index of {name}"
        write_records(f"{run}.status.json", status)
        runs.append(judge(run, "length", Path(f"{name}.jsonl")))
    page = report_page(runs)
    about = "verbatim, at most 60 words, judged by length"
    assert page.data["report"]["abouts"]["team2"] == about
    assert "runs from different indexes: team1; team2" in page.words
    touche_rad("score", *runs, err="runs from different indexes: team1; team2")
    Path("verbatim.jsonl.status.json").write_text("{")
    judge(Path("verbatim.jsonl"), "length", runs[1], "--restart")  # the lines name the debater, too
    page = report_page(runs)
    assert page.data["report"]["abouts"]["team2"] == "verbatim, judged by length"
    status = read_status(runs[1])
    status["identity"]["code of judge length"] = "another version"
    write_records(f"{runs[1]}.status.json", status)
    touche_rad("score", *runs, err="different code of judge length, so judge all again: team1; te")


def test_missing_debates_count_as_no_and_long_responses_are_named() -> None:
    def write(name: str, text: str, yes: int, no: int) -> Path:
        debates = []
        for at in range(yes + no):
            turns = (f"U{at}", text, "t"), ("V", text, "t")
            debates.append(make_debate(*turns, claim=f"Claim {at}"))
        out = Path(f"{name}.jsonl")
        good = write_evaluations(out, debates[:yes], 0.9).read_text()
        out.write_text(good + write_evaluations(out, debates[yes:], 0.1).read_text())
        return out

    complete = write("complete", "No.", 16, 4)
    runs = [write("part", "Never! " * 61, 13, 0), complete, write("few", "Maybe.", 0, 1)]
    with complete.open("a") as lines:
        lines.write("{}\n")
    mine = runs[0].read_text().splitlines()[0].replace("Claim 0", "Mine")
    runs[0].write_text(f"{mine}\n{runs[0].read_text()}")
    report = report_page(runs).data["report"]
    (of_all,) = report["claims"]["tables"]
    first, *_, last = of_all["values"]
    assert (first, last) == ([1, 1, 0], [None] * 3)  # a claim that is not counted is last
    rows = {row["run"]: row for row in report["boards"][0]["rows"]}
    assert rows["complete"]["cells"] == [None, "–", *[".76"] * 4, "20 of 21"]
    assert rows["part"]["cells"][2:] == [*[".62"] * 4, "13 of 21"]
    assert [rows[name]["rank"] for name in ("complete", "part", "few")] == [1, 1, 3]
    long = "too long responses: 28"
    assert ["part", 28, long, "#debates&mark=long&run=part"] in report["faults"]
    badge = "37 faults: 28 too long responses, 1 other debate, 8 missing or lost debates"
    assert report["badges"]["part"] == badge


def test_a_retrieval_run_is_scored() -> None:
    run = Path("a.run")
    run.write_text("q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\n")
    qrels = Path("qrels")
    qrels.write_text("q1 0 d1 1\n")
    page = report_page([run], labels=qrels)
    assert "nDCG@10" in page.words
    assert page.data["part-q0"] == [{"a": [["d1", "", 1], ["d2", "", None]]}]


def test_rankings_have_the_texts_of_queries_and_arguments() -> None:
    run, out = Path("attack.run"), Path("r.html")
    touche_rad("retrieve", CLAIMS, "-i", "demo", "-r", "attack", "-o", run)
    touche_rad("report", run, "--queries", CLAIMS, "-i", "demo", "-o", out)
    data = Page(out).data
    queries = [query["text"] for query in data["data-queries"]]
    assert sorted(queries) == sorted(claim.claim for claim in files.read_claims(CLAIMS))
    arguments = files.read_arguments(ARGUMENTS)
    texts = {argument.text for argument in arguments}
    shown = [text for query in data["part-q0"] for _, text, _ in query["attack"]]
    assert len(shown) == 10 * len(queries)
    assert set(shown) <= texts


PUBLIC = "irds:touche-rad/demo/counter/orig/test"


def test_queries_and_qrels_are_those_of_a_public_dataset() -> None:
    run, out = Path("a.run"), Path("r.html")
    touche_rad("retrieve", PUBLIC, "-i", "demo", "-r", "attack", "-o", run)
    truth = ("--labels", f"{PUBLIC}/qrels", "--queries", f"{PUBLIC}/queries")
    touche_rad("report", run, *truth, "-o", out)
    page = Page(out)
    assert f"{PUBLIC}/qrels" in page.words
    for query in page.data["data-queries"]:
        assert query["text"] != query["id"]
    assert any(grade for query in page.data["part-q0"] for _, _, grade in query["a"])
    with expect_error(r"contains labels.* needs qrels"):
        write_report([run], Path("labels.html"), labels=LABELS)


CUP = ("contests", "outcomes")
"""The runs of a tournament."""


def test_a_folder_and_those_in_it_are_read() -> None:
    folder, out = Path("runs"), Path("r.html")
    folder.mkdir()
    (folder / "below").mkdir()
    judge(DEBATES, "length", folder / "of-length.jsonl")
    judge(DEBATES, "random", folder / "below" / "of-random.jsonl")
    labels = folder / "labels.jsonl"
    labels.write_bytes(LABELS.read_bytes())
    (folder / "broken.jsonl").write_text("{", "utf-8")
    debaters = ("-d", "grounded", "-d", "verbatim", "--rounds", "1")
    touche_rad("tournament", CLAIMS, "-i", "demo", *debaters, "-o", folder / "cup")
    runs = (folder, "none.jsonl")
    touche_rad("report", *runs, "--labels", labels, "-o", out, code=1, err="broken.jsonl:1: ")
    report = Page(out).data["report"]
    files_of_page = {row[0]: row for row in report["files"]["rows"]}
    assert set(files_of_page) == {"of-length", "of-random", "broken", "none", "truth", "cup", *CUP}
    assert files_of_page["of-length"][2:6] == [
        "evaluations",
        "",
        "length",
        20,
    ]
    assert files_of_page["broken"][2] == "cannot be read"
    assert files_of_page["broken"][-1] == 1, "a fault"
    assert [board["measure"] for board in report["boards"]] == ["rating", "mean F1"]


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    touche_rad("report -o r.html", tmp_path, code=2, err=str(tmp_path))


def write_damaged_runs() -> Path:
    """Write runs of two judges on the demo's debates, and damaged ones; return their labels."""
    debates = read_demo_debates()
    good = write_evaluations("good.jsonl", debates, 0.9).read_text().splitlines()
    write_evaluations("noes.jsonl", debates, 0.1)
    odd = json.loads(good[3])
    odd["userTurnsEvaluations"][0]["Quality"]["score"] = "yes"
    half = read_records("good.jsonl")
    for record in half:
        for turn in record["userTurnsEvaluations"]:
            del turn["Quantity"]
    damaged = {
        "lost": [*good[:5], "{}", *good[6:]],
        "odd": [*good[:3], json.dumps(odd), *good[4:]],
        "half": [json.dumps(record) for record in half],
        "twice": [*good, good[2]],
        "cut": [*good[:5], good[5][:200], *good[6:]],
    }
    for name, lines in damaged.items():
        write_lines(f"{name}.jsonl", lines)
    shutil.copy(CLAIMS, "claims.jsonl")
    return Path(shutil.copy(LABELS, "labels.jsonl"))


@pytest.mark.parametrize("skip", [False, True])
def test_damages_of_scored_runs_are_named(tmp_path: Path, skip: bool) -> None:
    labels, out = write_damaged_runs(), Path("page/r.html")
    options = ["--skip-bad"] if skip else []
    ended = touche_rad("report", tmp_path, "--labels", labels, "-o", out, *options, code=1)
    assert ("warning: cut: invalid lines skipped: 1;" in ended.err) == skip
    check_page("damaged-and-skipped" if skip else "damaged", out)


def test_damages_of_runs_without_labels_are_named() -> None:
    write_damaged_runs()
    for name, text in (("other", "S."), ("same", "S."), ("alone", "T.")):
        debate = make_debate(("U", text, "t"), claim=text)
        write_evaluations(f"{name}.jsonl", [debate])
    write_lines("few.jsonl", Path("good.jsonl").read_text().splitlines()[1:])
    names = ("half", "twice", "noes", "few", "lost", "other", "same", "alone")
    write_report([Path(f"{name}.jsonl") for name in names], Path("r.html"))
    check_page("damaged-without-labels", Path("r.html"))


def test_what_the_labels_do_not_judge_is_named_once() -> None:
    labels, out = write_damaged_runs(), Path("r.html")
    for name in ("a", "b"):
        write_evaluations(f"{name}.jsonl", [make_debate(("U", "S.", "t"))])
    simulation = files.simulation_line(make_debate(("V", "S.", "t")))
    Path("played.jsonl").write_text(f"{simulation}\n{{}}\n")
    runs = [Path(f"{name}.jsonl") for name in ("good", "noes", "a", "b", "played")]
    touche_rad(
        "report", *runs, "--labels", labels, "-o", out, code=1, err="warning: played: 1 lost debate"
    )
    faults = Page(out).data["report"]["faults"]
    assert [name for name, _, text, _ in faults if text.startswith("not scored")] == ["a", "b"]


def test_verdicts_without_texts_are_only_scored_by_position(tmp_path: Path) -> None:
    whole = write_evaluations(tmp_path / "whole.jsonl", read_demo_debates())
    verdicts = [
        {"userTurnsEvaluations": row["userTurnsEvaluations"]} for row in read_records(whole)
    ]
    bare = write_records(tmp_path / "bare.jsonl", *verdicts)
    for command in ("score", f"report -o {tmp_path / 'bare.html'}"):
        touche_rad(command, bare, code=2, err=f"{bare}: expected the debates of the verdicts")
    report = report_page([whole, bare], labels=LABELS).data["report"]
    assert report["faults"] == []
    assert report["warnings"] == ["without texts, so only scored: bare"]
    assert [row[5] for row in report["files"]["rows"]] == [20, 20, None]
    assert len({row["value"] for row in report["boards"][0]["rows"][1:]}) == 1
    page = report_page([whole, bare]).data
    assert page["report"]["warnings"][0] == "not scored: bare"
    assert len(page["data-debates"]["claims"]) == 20


def test_what_the_input_does_not_have_is_on_no_tab(tmp_path: Path) -> None:
    debates = read_demo_debates()
    source = write_evaluations(tmp_path / "input.jsonl", debates[:12])
    runs = [
        write_evaluations(tmp_path / "all.jsonl", debates, 0.9),
        write_evaluations(tmp_path / "few.jsonl", debates[10::-1], 0.9),
    ]
    page = report_page(runs, policy=Policy(debates=source)).data
    assert len(page["data-debates"]["claims"]) == 12
    (table,) = page["report"]["claims"]["tables"]
    assert table["values"] == [[1, 1]] * 11 + [[1, 0]]
    badges = page["report"]["badges"]
    # It has another order.
    assert badges["few"] == "2 faults: 1 missing or lost debate, 1 fault"


def test_each_damaged_run_shows_its_debates(tmp_path: Path) -> None:
    labels = write_damaged_runs()
    page = report_page([tmp_path], labels=labels, bad=files.BadLines(skip=True))
    shown: Counter[str] = Counter()
    index = page.data["data-debates"]
    for debate in index["debates"]:
        shown.update(index["runs"][run] for run in debate[3])
    lost = {"lost": 19, "cut": 19}
    assert shown == dict.fromkeys(("odd", "half", "twice", "good", "noes"), 20) | lost


@pytest.mark.parametrize("judges", [("length", "length"), ("length", "random")])
def test_only_runs_of_one_judge_are_compared(judges: tuple[str, str]) -> None:
    runs = []
    for debater, judge_name in zip(("grounded", "verbatim"), judges, strict=True):
        run = simulate(debater)
        runs.append(judge(run, judge_name, Path(f"{debater}.{judge_name}.jsonl")))
    page = report_page(runs)
    same_judge = judges[0] == judges[1]
    same = "verbatim.length leads grounded.length by .10 share of yes"
    assert (same in page.words) == same_judge
    agreement = page.data["report"].get("agreement")
    names = [run.stem for run in runs]
    assert agreement is None if same_judge else agreement["names"] == names
    assert f"{' and '.join(sorted({*judges}))} judged without a language model" in page.words
    assert page.data["data-debates"]["red"] == "verdicts of no"


@with_cases(("claims", "scores", "sentence"), "report/sentences_on_leaders.json")
def test_sentences_name_the_leaders_from_ten_claims(
    claims: int, scores: dict[str, float], sentence: str
) -> None:
    runs = []
    for name, score in scores.items():
        debates = [make_debate(("U", f"{name}.", "t"), claim=f"{at}") for at in range(claims)]
        runs.append(write_evaluations(f"{name}.jsonl", debates, score))
    if claims > 1000:  # one no
        runs[0].write_text(runs[0].read_text().replace("0.5", "0.1", 1))
    (board,) = report_page(runs).data["report"]["boards"]
    words = " ".join(board["text"])
    assert sentence in words
    assert (sentence[:10] if "the same" in sentence else "b has ") in board["title"]
    assert ("significantly" in words) == ("significantly" in sentence)


def test_an_output_that_exists_stops_before_the_slow_imports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "touche_rad.report", None)
    Path("r.html").write_text("x")
    touche_rad("report none.jsonl -o r.html", code=2, err="r.html")


def test_labels_of_other_debates_are_refused_with_the_same_fix() -> None:
    labels = write_damaged_runs()
    labels.write_text("".join(labels.read_text().splitlines(keepends=True)[1:]))
    run = "good.jsonl"
    refusals = {
        "report": touche_rad("report -o page", run, "--labels", labels, code=2),
        "score": touche_rad("score", run, labels, code=2),
        "score of several": touche_rad("score", run, "noes.jsonl", "half.jsonl", labels, code=2),
        "labels as a run": touche_rad("report -o page", labels, code=2),
    }
    check_messages("labels-of-other-debates", refusals)


def test_the_title_says_on_which_criteria_a_run_beats_the_baseline() -> None:
    labels = list(files.read_labels(LABELS))
    records = read_records(write_evaluations("a.jsonl", read_demo_debates(), 0.9))
    for record, of_debate in zip(records, labels, strict=True):
        for turn, of_turn in zip(record["userTurnsEvaluations"], of_debate, strict=True):
            turn["Quality"]["score"] = of_turn["quality"]
            turn["Manner"]["score"] = float(not of_turn["quality"])
    run = write_records("a.jsonl", *records)
    (board,) = report_page([run], labels=LABELS).data["report"]["boards"]
    assert board["title"] == (
        "No run beats always-yes; a: −.07 [−.11, −.03], p (Holm) = .001 over 1 comparison; "
        "better on Quality (+.21); worse on Manner (−.48); "
        "not significantly different on Quantity (.00) and Relation (.00)"
    )
    cells = board["rows"][1]["cells"]
    differences = [cell for cell in cells if isinstance(cell, list)]
    lines = touche_rad("score --pairs --csv", run, LABELS).out.splitlines()
    pairs = list(csv.reader(lines[1:]))
    expected = [[*pair[3:6], str(float(pair[7]) < 0.05)] for pair in pairs]
    assert [[*map(str, cell)] for cell in differences] == expected
    assert cells[1] == probability(float(pairs[0][7]))


def test_two_lower_runs_are_compared_as_with_one_of_them_as_the_baseline() -> None:
    runs = [Path(f"{seed}.jsonl") for seed in range(4)]
    for seed, run in enumerate(runs):
        touche_rad("judge", DEBATES, "-j", "random", "--seed", str(seed), "-o", run)
    (board,) = report_page(runs, labels=LABELS).data["report"]["boards"]
    _, second, third, _ = [row["run"] for row in board["rows"] if row["run"] != "always-yes"]
    shown = {frozenset(pair): figures[0] for *pair, figures in board["pairs"]}
    words = ("score --pairs --csv --baseline", f"{second}.jsonl", *runs, LABELS)
    for line in csv.reader(touche_rad(*words).out.splitlines()):
        if line[:3] == [third, second, "mean"]:
            difference, low, high, _, p_holm = map(float, line[3:8])
    assert shown[frozenset((second, third))] == [
        *(round(value, 6) for value in (difference, low, high)),
        p_holm < 0.05,
        f"{probability(p_holm)} (Holm) over 3 comparisons",
    ]


def test_a_citation_shows_its_search_path() -> None:
    run = Path("run.jsonl")
    touche_rad("respond", DEBATES, "-d", "grounded", "-i", "demo", "-o", run)
    paths = []
    for line in run.read_text("utf-8").splitlines():
        paths += [argument["path"] for argument in json.loads(line)["arguments"]]
    assert all(paths)
    shown = []
    for turns in report_page([run]).data["part-d0"]:
        for turn in turns:
            if turn["answer"]:
                shown += [citation["path"] for citation in turn["answer"]["citations"]]
    assert shown == paths
