"""The shares of yes of runs without labels, at the end of `judge` and from `score`."""

from __future__ import annotations

import csv
import json
import shutil
from copy import deepcopy
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.cases import with_cases
from tests.demo import CLAIMS, DEBATES, LABELS
from tests.records import change_parts, read_json, read_records, write_records
from tests.report.makers import Page
from tests.terminal import touche_rad
from touche_rad import files, frames
from touche_rad.debate import NOTHING_FOUND, Debate, Response, Turn
from touche_rad.score.conversations import DebateOfRun, topics

DEBATERS = ("grounded", "verbatim")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of two debaters on the demo's claims."""
    place = tmp_path_factory.mktemp("shares")
    for debater in DEBATERS:
        play = f"simulate -d {debater} -i demo -o {debater}.jsonl -q --turns 2"
        touche_rad(play, CLAIMS, cwd=place)
    return place


@pytest.fixture(autouse=True)
def _runs(folder: Path) -> None:
    """Each test has its own copies of the runs."""
    shutil.copytree(folder, ".", dirs_exist_ok=True)


def test_labels_on_all_turns_stay_with_their_turns() -> None:
    answered = Turn(utterance="One.", response=Response(content="No."))
    debate = Debate(claim="Zoos.", turns=(answered, Turn(utterance="Two."), answered))
    labels: list[dict[str, int | None]] = [{"quality": 0}, {}, {"quality": 1}]
    for labels_of_run in (labels, labels[::2]):
        (topic,) = topics([DebateOfRun(0, debate, labels=labels_of_run)])
        assert topic.conversations[0].labels == labels


@with_cases(("runs", "reason"), "score/runs_without_ranks_say_why.json")
def test_runs_without_ranks_say_why(runs: str, reason: str) -> None:
    text = Path("grounded.jsonl").read_text()
    for claim in frames.responses("grounded.jsonl")["claim"].unique():
        text = text.replace(json.dumps(claim)[1:-1], f"Never: {claim}")
    Path("others.jsonl").write_text(text)
    for run in runs.split():
        debater, judge, *index = run.split(".")
        call = f"judge {debater}.jsonl -o {run} -q"
        call += f" -i {index[0]}" if index else ""
        touche_rad(f"{call} -j {judge}")
    ended = touche_rad(f"score --pairs {runs}", env={"COLUMNS": "120"})
    scored = " ".join(ended.out.split())
    assert scored.startswith(f"Not ranked: {reason}" if reason else "verbatim.length")
    assert "judged without a language model" in scored
    code = 2 if reason else 0
    touche_rad(f"score --pairs --csv {runs}", code=code, err=reason)
    touche_rad(f"report {runs} grounded.jsonl -o page.html")  # the last one is not judged
    (board,) = Page("page.html").data["report"]["boards"]
    assert board["title"].startswith("Not ranked: ") == bool(reason)
    assert (board["title"][:80] in scored) == bool(reason)
    assert (board["rows"][0]["place"] == "–") == bool(reason)
    assert bool(board["pairs"]) == ("over all comparisons" in scored) == (not reason)


@pytest.mark.parametrize(
    ("status", "warning"),
    [
        ("", ""),
        ("{", "cannot be read: damaged, or of another version of touche-rad; fallbacks are unk"),
        ('{"format": 99, "output": "verbatim.judged"}', "or of another version of touche-rad; "),
        ('{"output": "verbatim.judged", "sha256": "0"}', "is of another run; fallbacks are unkn"),
    ],
)
def test_a_status_costs_no_rank(status: str, warning: str) -> None:
    for debater in DEBATERS:
        touche_rad(f"judge {debater}.jsonl -o {debater}.judged")
    place = Path("verbatim.judged.status.json")
    place.write_text(status) if status else place.unlink()
    runs = " ".join(f"{debater}.judged" for debater in DEBATERS)
    unknown = "no status names the judge of verbatim.judged: rank only runs that one judge judged"
    scored = touche_rad(f"score --json {runs}", err=warning).json
    assert unknown in scored["notes"]
    touche_rad(f"report -o p.html {runs}", err=unknown)
    page = Page("p.html").data["report"]
    assert [warning in text for run, _, text, _ in page["faults"] if run == "verbatim.judged"] == (
        [True] if status else []
    )
    (board,) = page["boards"]
    for ranking in (scored["ranking"], board["rows"]):
        assert None not in [row["rank"] for row in ranking]


def test_runs_without_a_status_may_be_of_several_judges() -> None:
    for debater in DEBATERS:
        touche_rad(f"judge {debater}.jsonl -o {debater}")
        Path(f"{debater}.status.json").unlink()
    touche_rad("score", *DEBATERS, out="no status names the judge of grounded and verbatim: ")
    touche_rad("report", *DEBATERS, err="no status names the judge of grounded and verbatim: ")
    assert "no status names" not in touche_rad("score grounded").out


def test_verdicts_on_debates_that_were_made_again_are_named() -> None:
    """The status may be a stranger's: it alone names no file outside its folder to read."""
    Path("far").mkdir()
    for made_from in ("grounded", "verbatim"):
        shutil.copy(f"{made_from}.jsonl", "debates.jsonl")
        touche_rad(f"judge debates.jsonl -o {made_from}.j.jsonl")
        touche_rad(f"judge debates.jsonl -o far/{made_from}.j.jsonl")
    runs = "grounded.j.jsonl verbatim.j.jsonl"
    warning = "j.jsonl: verdicts on an earlier debates.jsonl: judge it again"
    for call in (
        f"score {runs}",
        f"report {runs} -o page.html",
        "score far --debates debates.jsonl",
        "report far debates.jsonl -o far.html",
    ):
        assert touche_rad(call, err=f"grounded.{warning}").err.count(warning) == 1
    assert warning not in touche_rad("score far").err


def test_one_debater_on_two_histories_has_two_numbers_on_the_same_claims() -> None:
    debates = read_records(DEBATES)[:2]
    write_records("debates", *(row | {"id": f"d{at}"} for at, row in enumerate(debates)))
    for shape in ("responses", "simulations"):
        ended = touche_rad(f"respond debates -i demo --as {shape} -o {shape}")
        assert ("another history" in ended.err) == (shape == "simulations")
    judged = touche_rad("judge responses simulations -o judged")
    assert "no claim in common" not in judged.out
    for path in Path("judged").glob("*.jsonl"):
        assert [row["id"] for row in read_records(path)] == ["d0", "d1"]


def test_several_files_are_judged_into_a_folder_and_compared() -> None:
    Path("bad.jsonl").write_text("nonsense\n")
    call = "judge grounded.jsonl verbatim.jsonl -o judged"
    Path("judged").mkdir()
    Path("judged/verbatim.jsonl").write_text("another file\n")
    refused = touche_rad(call, code=2, err="judged/verbatim.jsonl exists already")
    assert "--skip-bad" not in refused.err
    Path("judged/verbatim.jsonl").unlink()
    status = read_json("judged/grounded.jsonl.status.json")
    judged = touche_rad(call, "bad.jsonl", code=2)
    assert "bad.jsonl:1: " in judged.err.splitlines()[-1]
    assert judged.err.count("next: ") == 1
    assert read_json("judged/grounded.jsonl.status.json") == status, "not judged again"
    parts = judged.out.removesuffix("\n").split("\n\n")  # the finding is last
    scored = "\n\n".join(reversed(parts)) + "\n"
    assert touche_rad("score judged").out == scored
    Path("both").mkdir()
    for name in DEBATERS:  # a status beside a run is no run
        for ending in (".jsonl", ".jsonl.status.json"):
            shutil.copy(f"{name}{ending}", "both")
    assert touche_rad("judge both -o of-both").out == judged.out
    assert "--skip-bad" not in touche_rad(call, "bad.jsonl", "--skip-bad", code=None).err

    assert touche_rad("score judged/grounded.jsonl judged/verbatim.jsonl").out == scored
    assert scored.startswith("verbatim: share of yes ")


def test_equal_names_of_files_keep_their_folders() -> None:
    for name in ("one", "two"):
        Path(name).mkdir()
        shutil.copy("grounded.jsonl", f"{name}/run.jsonl")
    judged = touche_rad("judge one/run.jsonl one/../two/run.jsonl -o all/judged")
    scored = touche_rad("score all/judged/one/run.jsonl all/judged/two/run.jsonl").out.splitlines()
    assert sorted(scored) == sorted(judged.out.splitlines())


def test_missing_turns_and_lost_debates_are_counted() -> None:
    for name in DEBATERS:
        assert touche_rad("judge -q", f"{name}.jsonl", "-o", f"{name[0]}.jsonl").out == ""
    shorter, *others = read_records("v.jsonl")[2:]  # a turn is missing
    shorter["simulation"]["userTurns"].pop()
    shorter["userTurnsEvaluations"].pop()
    write_records("v.jsonl", {}, shorter, *others)  # one is lost, one is missing
    record = touche_rad("score g.jsonl v.jsonl --json").json
    assert "missing turns, which count as no: v 1" in record["notes"]
    assert record["debates"] == {"g": "10 of 10", "v": "8 of 10"}
    # Also without another run that has the turn: the configuration tells how many there should be.
    alone = touche_rad("score v.jsonl --json").json
    assert "missing turns, which count as no: v 1" in alone["notes"]
    assert alone["turns"] == {"v": 18}
    text = Path("v.jsonl").read_text().replace('"maxTurns": 2', '"maxTurns": 3')
    Path("longer.jsonl").write_text(text)  # equal debates
    assert touche_rad("score longer.jsonl v.jsonl --json").json["turns"] == {"longer": 27, "v": 27}
    touche_rad("check v.jsonl", code=None, out="1 of 2 turns; the others count as no")


@with_cases(("lost", "notes"), "score/a_turn_without_its_answer.json")
def test_a_turn_without_its_answer_is_a_no_but_for_the_last_of_a_recorded_debate(
    lost: list[str], notes: list[str]
) -> None:
    first, *others = read_records("verbatim.jsonl")
    change_parts(first["simulation"], dict.fromkeys(lost, "left out"))
    write_records("cut.jsonl", first, *others)
    judged = touche_rad("judge cut.jsonl -o cut.j.jsonl --json").json
    assert judged["notes"][1:] == notes
    checked = touche_rad("check cut.j.jsonl", code=None).out
    assert ("turns; the others count as no" in checked) == bool(notes)


def test_a_changed_claim_changes_no_other_run_and_gives_no_rank() -> None:
    claims = [line.partition("\t")[0] for line in CLAIMS.read_text().splitlines()]
    all_claims = Path("verbatim.jsonl").read_text()
    one_claim = all_claims.replace(claims[-1], "Zoos, again.")
    again = Path("grounded.jsonl").read_text().replace(claims[-1], "Zoos, again.")
    for number, claim in enumerate(claims):
        all_claims = all_claims.replace(claim, f"Zoos, number {number}.")
    for name, text in (("one", one_claim), ("all", all_claims), ("again", again)):
        Path(f"{name}.jsonl").write_text(text)
    shutil.copy("grounded.jsonl", "third.jsonl")
    runs = [f"{name}.jsonl" for name in (*DEBATERS, "one", "all", "third", "again")]
    rows_of = []
    for count in (2, 4, 6):
        report = touche_rad(f"judge -o of{count} --json", *runs[:count]).json
        rows_of.append([row for row in report["rows"] if row["run"] in DEBATERS])
        assert report["claims"] == 10
    assert rows_of == rows_of[:1] * 3
    ranks = {row["run"]: row["rank"] for row in report["ranking"]}
    assert ranks["all"] is None
    assert list(ranks)[-1] == "all"
    assert report["debates"]["one"] == "9 of 10"
    checked = touche_rad("check one.jsonl --json --input", CLAIMS, code=None)
    kinds = {fault["kind"] for fault in checked.json[0]["findings"]}
    assert kinds >= {"a debate is missing", "a debate is additional"}


def test_the_input_says_which_debates_each_run_must_have() -> None:
    """Two runs with the same foreign claim take nothing from the others."""
    touche_rad("judge grounded.jsonl -o right.j.jsonl")
    first, *others = read_records("right.j.jsonl")
    claims = CLAIMS
    claims_of_input = [debate.claim for debate in files.read_claims(claims)]
    write_records("less.j.jsonl", *others[1:])
    again = deepcopy(others[0])
    again["simulation"]["userTurns"][0]["utterance"] = "Once more."
    write_records("twice.j.jsonl", others[0], again, *others)
    foreign = deepcopy(first)
    foreign["simulation"]["configuration"]["topic"]["description"] = "Foreign."
    for name in ("a", "b"):
        write_records(f"{name}.j.jsonl", foreign, *others)
    empty = {"simulation": {"userTurns": []}, "userTurnsEvaluations": []}
    write_records("lost.j.jsonl", *[empty] * 10)
    runs = [f"{name}.j.jsonl" for name in ("right", "a", "b", "less", "lost")]
    report = touche_rad("score --json", *runs, "--debates", claims).json
    assert [*report["debates"].values()] == ["10 of 10", "9 of 10", "9 of 10", "8 of 10", "0 of 10"]
    # A debate has the name of its line, with or without the input; others have free names.
    in_order = [*claims_of_input[2:], *claims_of_input[:2]]
    names = [(f"debate-{place}", claim) for place, claim in enumerate(in_order, 1)]
    for words, count in (((), 8), (("--debates", claims), 10)):
        rows = touche_rad("score less.j.jsonl --per debate --json", *words).json
        assert {(row["debate"], row["claim"]) for row in rows} == {*names[:count]}
    lost = [write_records(f"{name}.j.jsonl", {}, {}, *others[1:]) for name in "cd"]
    report = touche_rad("score --json", runs[0], *lost).json
    assert [*report["debates"].values()] == ["10 of 10", "8 of 10", "8 of 10"]
    for name, missing in (("less", 2), ("twice", 1), ("lost", 10)):
        warning = f"missing or lost debates, which count as no: {name}.j {missing}"
        touche_rad(f"report {name}.j.jsonl --debates {claims} -o {name}.html", err=warning)
    on_page = Page("less.html").data["data-debates"]["claims"]
    assert on_page == [f"{at}. {claim}" for at, claim in enumerate(claims_of_input[2:], 1)]
    touche_rad("score less.j.jsonl", out="check RUN --input CLAIMS names them")
    named = touche_rad("check less.j.jsonl --input", claims, code=1).out
    assert named.count("no debate on ") == 2


def test_fallback_answers_are_named() -> None:
    first, *others = read_records("verbatim.jsonl")
    first["simulation"]["userTurns"][0]["systemResponse"]["response"]["fallback"] = "timeout"
    write_records("late.jsonl", first, *others)
    touche_rad("judge late.jsonl -o late.j.jsonl")
    warning = "late.j.jsonl: 1 of 20 answers are fallbacks"
    without_model = "grounded judged without a language model"
    touche_rad("score late.j.jsonl", err=warning, out=without_model)
    touche_rad("report late.jsonl verbatim.jsonl -o both.html")
    debates = Page("both.html").data["data-debates"]["debates"]
    # Runs and the marks of the turns: only one of two equal debates has a fallback.
    assert [(row[3], row[4] == "00") for row in debates[:2]] == [([0], False), ([1], True)]
    first["simulation"]["userTurns"][1]["systemResponse"]["utterance"] = ""
    others[0]["simulation"]["userTurns"][0]["systemResponse"]["utterance"] = "word " * 61
    others[0]["simulation"]["userTurns"][1]["systemResponse"]["utterance"] = NOTHING_FOUND
    write_records("late.jsonl", first, *others)
    for call in (
        "judge late.jsonl -o late.j.jsonl --restart --replace",
        "score late.j.jsonl",
        "report late.j.jsonl -o late.html",
    ):
        ended = touche_rad(call, mixed=True)
        for what in ("empty responses", "too long responses", "no-argument responses"):
            assert f"{what}: late.j 1" in ended.err
        assert "1 of 20 answers are fall" in ended.err
        finding = {"judge": -1, "score": 0}.get(call.split()[0])
        shown, _, _ = ended.out.partition("next: ")
        assert finding is None or "share of yes" in shown.splitlines()[finding]
    touche_rad("check late.j.jsonl", code=None, out="the answer is empty")
    causes = frames.responses("late.j.jsonl")["fallback"].tolist()
    assert causes == ["timeout", *[""] * 19]
    touche_rad("check late.j.jsonl", out="the answer has 61 words, at most 60 are allowed")


def test_a_run_of_fallbacks_with_the_responses_of_another_takes_no_rank() -> None:
    rows = read_records("verbatim.jsonl")
    for row in rows:
        for turn in row["simulation"]["userTurns"]:
            turn["systemResponse"]["response"]["fallback"] = "timeout"
    write_records("late.jsonl", *rows)
    for name in ("verbatim", "late"):
        touche_rad(f"judge -q {name}.jsonl -o {name}.j.jsonl --replace")
    ranking = touche_rad("score late.j.jsonl verbatim.j.jsonl --json").json["ranking"]
    assert {row["run"]: row["rank"] for row in ranking} == {"verbatim.j": 1, "late.j": None}


def test_pairs_compare_with_a_baseline() -> None:
    for name in DEBATERS:
        touche_rad(f"judge -q {name}.jsonl -o {name}.j.jsonl")
    call = "score grounded.j.jsonl verbatim.j.jsonl"
    pairs = f"{call} --pairs --samples 200 --baseline"
    for baseline in ("verbatim.j.jsonl", "verbatim.j"):
        compared = touche_rad(pairs, baseline, "--csv")
        assert compared.out.count("grounded.j,verbatim.j,") == 5
    (first, second) = csv.DictReader(touche_rad(f"{call} --csv").out.splitlines())
    assert (first["rank"], first["debates"], first["p_holm"]) == ("1", "10 of 10", "")
    assert float(second["mean"]) > float(second["mean_low"])
    assert 0 < float(second["p_holm"]) <= 1
    near = "(did you mean 'verbatim.j.jsonl'?)"
    touche_rad(pairs, "verbatin.j", code=2, err=near)
    shown = touche_rad(pairs, "verbatim.j").out
    assert "* baseline, without a rank." in shown
    assert "over all comparisons of the measure that ranks" in shown
    touche_rad("report grounded.j.jsonl verbatim.j.jsonl -o page.html --baseline verbatim.j")
    (board,) = Page("page.html").data["report"]["boards"]
    assert [row["run"] for row in board["rows"] if row["baseline"]] == ["verbatim.j"]
    assert "turns,p_holm,p_holm_verbatim.j,mean," in unquote(board["tables"][0]["csv"])
    assert board["title"].startswith("No run beats verbatim.j; grounded.j: −.01 [")
    assert board["columns"][1] == ["p (Holm)", "against baseline"]
    differences = [cell[0] for cell in board["rows"][1]["cells"] if isinstance(cell, list)]
    rows = csv.DictReader(compared.out.splitlines())
    assert differences == [float(row["difference"]) for row in rows]
    touche_rad("report verbatim.jsonl --baseline verbatim.jsonl -o x.html", code=2, err="rank")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("grounded.jsonl", "touche-rad judge makes them"),
        ("e.jsonl --correct", "--correct is not for runs without labels"),
        ("e.jsonl grounded.jsonl", "the last file must be"),
        ("empty", "expected a folder with runs"),
        (f"{LABELS} e.jsonl", "(the labels last)"),
    ],
)
def test_what_has_no_shares_is_refused(words: str, part: str) -> None:
    touche_rad("judge grounded.jsonl -o e.jsonl -q")
    Path("empty").mkdir()
    refused = touche_rad(f"score {words}", code=None)
    assert refused.code in (1, 2)
    assert part in " ".join(refused.err.split())
