"""The report: its words, its data, and nothing of the debates' text taken for markup."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import escape

from tests.report.makers import NASTY, debate, evaluations, islands
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.demo import demo_file
from touche_rad.errors import UserError
from touche_rad.plots.svg import Dot, dot_plot, scale
from touche_rad.report import write_report

BUGGY = """
from touche_rad.plugins import debater


@debater("buggy")
class Buggy:
    def __init__(self, options, services):
        pass

    def answer(self, debate):
        if "fine" in debate.last.utterance:
            return {"content": "I disagree."}
        raise KeyError("a bug")
"""


class Page(HTMLParser):
    """What a browser would make of a page: its tags, ids, links and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _page(out: Path) -> Page:
    return Page(out.read_text("utf-8"))


def test_the_page_holds_scores_labels_and_each_turn(tmp_path: Path) -> None:
    debates = list(files.read_debates(demo_file("debates.jsonl")))
    yes = evaluations(tmp_path / "yes.jsonl", debates, 0.9)
    no = evaluations(tmp_path / "no.jsonl", debates, 0.1)
    out = tmp_path / "report.html"
    summary = write_report([yes, no], out, labels=demo_file("labels.jsonl"))
    assert summary.page == out
    text = " ".join(_page(out).text)
    assert "yes leads no by 0.854 mean F1, significantly" in text
    assert "yes is not significantly different from the baseline always-yes" in text
    assert "no is significantly worse than the baseline always-yes" in text
    assert "mean of the maxims, on 60 labelled turns of 20 debates." in text
    words = " ".join(text.split())
    assert "Agreement of the judges: share of equal verdicts CSV yes no yes – 0.000" in words
    assert "quality label yes label no judge yes 38 20 judge no 0 0" in words
    assert "Share of yes by turn" in words
    data = islands(out.read_text("utf-8"))
    index = data["data-debates"]
    labels = [turn for one in files.read_labels(demo_file("labels.jsonl")) for turn in one]
    known = "".join(one[-1] for one in index["debates"])
    assert [known.count(letter) for letter in "yn-"] == [
        sum(turn.get(maxim) == value for turn in labels for maxim in Maxim)
        for value in (1, 0, None)
    ]
    assert {letter for one in index["debates"] for letter in one[7]} == {"y", "n"}
    parts = [data[f"part-d{number}"] for number in range(index["parts"])]
    told = [turn["user"] for part in parts for turns in part for turn in turns]
    assert sorted(told) == sorted(turn.utterance for one in debates for turn in one.turns)
    few = tmp_path / "few.jsonl"
    few.write_text("".join(demo_file("labels.jsonl").read_text().splitlines(True)[:9]))
    write_report([evaluations(tmp_path / "some.jsonl", debates[:9], 0.9)], out, labels=few)
    assert "have the highest mean F1; too few debates (9) to tell" in " ".join(_page(out).text)


def test_a_run_that_lacks_a_line_shows_the_labels_of_its_own_debates(tmp_path: Path) -> None:
    debates = list(files.read_debates(demo_file("debates.jsonl")))
    whole = evaluations(tmp_path / "whole.jsonl", debates, 0.9)
    short = evaluations(tmp_path / "short.jsonl", debates[1:], 0.1)
    write_report([whole, short], tmp_path / "r.html", labels=demo_file("labels.jsonl"))
    index = islands((tmp_path / "r.html").read_text("utf-8"))["data-debates"]
    letters = [
        "".join(
            "-ny"[1 + value if (value := turn.get(maxim)) is not None else 0]
            for turn in one
            for maxim in Maxim
        )
        for one in files.read_labels(demo_file("labels.jsonl"))
    ]
    shown = ["".join(one[-1]) for one in index["debates"]]
    assert sorted(shown) == sorted(letters)


def test_a_folder_has_the_same_data_in_files(tmp_path: Path) -> None:
    debates = [debate(*((f"{at}{n}", "x" * 30_000, "t") for n in range(5))) for at in range(5)]
    run = evaluations(tmp_path / "run.jsonl", debates)
    write_report([run], tmp_path / "one.html")
    summary = write_report([run], tmp_path / "many")
    one, many = ((tmp_path / name).read_text("utf-8") for name in ("one.html", "many/index.html"))
    assert summary.page == tmp_path / "many" / "index.html"
    parts = {name: text for name, text in islands(one).items() if name.startswith("part-")}
    assert len(parts) > 1
    assert not any(name.startswith("part-") for name in islands(many))
    for name, value in parts.items():
        name = name.removeprefix("part-")
        text = (tmp_path / "many" / "data" / f"{name}.js").read_text("utf-8")
        assert text.startswith(f'radPart("{name}",')
        assert json.loads(text.removeprefix(f'radPart("{name}",').removesuffix(");\n")) == value
    assert "script-src" in many
    assert "'self'" not in one


def test_turns_of_a_fallback_debater_are_marked(tmp_path: Path, demo_index_path: Path) -> None:
    plugin, source = tmp_path / "buggy_plugin.py", tmp_path / "debates.jsonl"
    plugin.write_text(BUGGY)
    rows = [
        {"messages": [{"role": "user", "content": text}]}
        for text in ("This is fine.", "Zoos should be closed.")
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run, judged = tmp_path / "run.jsonl", tmp_path / "judged.jsonl"
    ended = touche_rad(
        "--plugin", plugin, "respond", source, "-d", "buggy", "-i", str(demo_index_path), "-o", run
    )
    assert ended.code == 0, ended.err
    assert touche_rad("judge", run, "-j", "length", "-o", judged).code == 0
    for made in (run, judged):
        write_report([made], tmp_path / "r.html")
        index = islands((tmp_path / "r.html").read_text("utf-8"))["data-debates"]
        assert [int(one[4], 16) & 4 for one in index["debates"]] == [0, 4]
        text = " ".join(_page(tmp_path / "r.html").text)
        assert "1 of 2 answers are fallbacks or missing" in text


def test_nothing_is_fetched_and_no_text_becomes_markup(tmp_path: Path) -> None:
    debates = [debate(*((one, other, one) for other in NASTY[:3]), claim=one) for one in NASTY]
    run = evaluations(tmp_path / "nasty.jsonl", debates)
    write_report([run], tmp_path / "r.html", title=NASTY[0])
    page = _page(tmp_path / "r.html")
    data = islands((tmp_path / "r.html").read_text("utf-8"))
    assert page.tags.count("script") == 3 + len(data), "three scripts of ours, and data"
    assert not {"img", "iframe", "object"} & set(page.tags)
    loaded = [value or "" for key, value in page.attributes if key in ("src", "href", "action")]
    assert all(value.startswith(("#", "data:,", "data:text/csv")) for value in loaded)
    assert not any(key.startswith("on") for key, _ in page.attributes)
    policy = next(
        value for key, value in page.attributes if key == "content" and "default" in str(value)
    )
    assert "default-src 'none'" in str(policy)


def test_simulations_without_verdicts_and_unanswered_turns_are_shown(tmp_path: Path) -> None:
    one = debate(("U1", "S1.", "S1.")).with_utterance("U2")
    (tmp_path / "sim.jsonl").write_text(files.simulation_line(one) + "\n")
    write_report([tmp_path / "sim.jsonl"], tmp_path / "r.html")
    assert "contain no verdicts" in " ".join(_page(tmp_path / "r.html").text)
    index = islands((tmp_path / "r.html").read_text("utf-8"))["data-debates"]
    assert index["debates"][0][4] == "08", "the second turn is unanswered"


@pytest.mark.parametrize(("judge", "count"), [("grounded", 1), ("zsl", 0)])
def test_a_ranking_by_a_judge_without_a_model_has_a_warning(
    tmp_path: Path, judge: str, count: int
) -> None:
    server = tmp_path / "said.jsonl"
    answer = json.dumps(dict.fromkeys(("quantity", "quality", "relation", "manner"), "no"))
    server.write_text(json.dumps({"answer": answer}) + "\n")
    model = ("-m", f"scripted:{server}") if judge == "zsl" else ()
    runs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for run, debater in zip(runs, ("grounded", "verbatim"), strict=True):
        played = tmp_path / f"{debater}.jsonl"
        words = ("simulate", demo_file("claims.tsv"), "-i", "demo", "-d", debater, "--turns", "1")
        assert touche_rad(*words, "-o", played, "-q").code == 0
        assert touche_rad("judge", played, "-j", judge, *model, "-o", run, "-q").code == 0
    write_report(runs, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("does not see on which side an answer argues") == count


def test_runs_are_named_after_what_differs(tmp_path: Path) -> None:
    played, judged = [], []
    for debater in ("grounded", "verbatim"):
        played.append(tmp_path / f"{debater}-of-today.jsonl")
        words = ("simulate", demo_file("claims.tsv"), "-i", "demo", "-d", debater, "--turns", "2")
        assert touche_rad(*words, "-o", played[-1], "-q").code == 0
        for judge in ("length", "random"):
            judged.append(tmp_path / f"{debater}.{judge}.jsonl")
            assert touche_rad("judge", played[-1], "-j", judge, "-o", judged[-1], "-q").code == 0
    copy = tmp_path / "again.jsonl"
    copy.write_bytes(judged[0].read_bytes())
    second = tmp_path / "second.jsonl"
    assert touche_rad("judge", played[0], "-j", "length", "-o", second, "-q").code == 0
    for runs, names in (
        (judged[::2], ["grounded", "verbatim"]),
        (judged[:2], ["length", "random"]),
        (judged[::3], ["grounded, judged by length", "verbatim, judged by random"]),
        (played, ["grounded", "verbatim"]),
        ([judged[0], copy], ["length", "again"]),
        ([judged[0], second], ["grounded.length (length)", "second (length)"]),
    ):
        write_report(runs, tmp_path / "r.html")
        index = islands((tmp_path / "r.html").read_text("utf-8"))["data-debates"]
        assert [run["name"] for run in index["runs"]] == names


def test_a_retrieval_run_is_scored(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    write_report([tmp_path / "a.run"], tmp_path / "r.html", labels=tmp_path / "qrels")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "nDCG@10" in page
    (ranking,) = islands(page)["part-q0"]
    found = re.findall(r"<li>(.*?)</li>", ranking)
    assert ["relevant" in one for one in found] == [True, False]
    assert "d1" in found[0]


def test_rankings_have_the_texts_of_queries_and_arguments(tmp_path: Path) -> None:
    claims, run, out = demo_file("claims.tsv"), tmp_path / "attack.run", tmp_path / "r.html"
    assert touche_rad("retrieve", claims, "-i", "demo", "-r", "attack", "-o", run).code == 0
    ended = touche_rad("report", run, "--queries", claims, "-i", "demo", "-o", out)
    assert ended.code == 0, ended.err
    data = islands(out.read_text("utf-8"))
    shown = [one["motion"] for one in data["data-queries"]["contests"]]
    assert sorted(shown) == sorted(one.claim for one in files.read_claims(claims))
    texts = {str(escape(one.text)) for one in files.read_arguments(demo_file("arguments.jsonl"))}
    found = re.findall(r'class="text">(.*?)</span>', "".join(data["part-q0"]))
    assert len(found) == 10 * len(shown)
    assert set(found) <= texts


def test_queries_and_qrels_are_those_of_a_public_dataset(tmp_path: Path) -> None:
    name, run, out = "irds:touche-rad/demo/counter/orig/test", tmp_path / "a.run", tmp_path / "r"
    assert touche_rad("retrieve", name, "-i", "demo", "-r", "attack", "-o", run).code == 0
    places = ("--labels", f"{name}/qrels", "--queries", f"{name}/queries")
    ended = touche_rad("report", run, *places, "-o", out / "r.html")
    assert ended.code == 0, ended.err
    page = (out / "r.html").read_text("utf-8")
    assert f"{name}/qrels" in page
    assert all(one["motion"] != one["id"] for one in islands(page)["data-queries"]["contests"])
    assert "relevant" in "".join(islands(page)["part-q0"])
    with pytest.raises(UserError, match="contains labels: a TREC run needs qrels"):
        write_report([run], out / "r.html", labels=demo_file("labels.jsonl"))


def test_a_folder_of_runs_begins_with_a_table_of_them(tmp_path: Path) -> None:
    folder, out = tmp_path / "runs", tmp_path / "r.html"
    folder.mkdir()
    for judge in ("length", "random"):
        words = ("judge", demo_file("debates.jsonl"), "-j", judge)
        assert touche_rad(*words, "-o", folder / f"of-{judge}.jsonl").code == 0
    (folder / "labels.jsonl").write_bytes(demo_file("labels.jsonl").read_bytes())
    (folder / "broken.jsonl").write_text("{", "utf-8")
    cup = ("tournament", demo_file("claims.tsv"), "-i", "demo", "-d", "grounded", "-d", "verbatim")
    assert touche_rad(*cup, "--rounds", "1", "-o", folder / "cup").code == 0
    ended = touche_rad("report", folder, "--labels", folder / "labels.jsonl", "-o", out)
    assert (ended.code, "broken.jsonl:1: " in ended.err) == (1, True)
    words = " ".join(" ".join(_page(out).text).split())
    table = words[words.index("Runs Runs CSV") : words.index("Dates, plugins and fallbacks")]
    assert re.search(r"length \d{4}-\d\d-\d\d \d\d:\d\d evaluations – length 20 0 0\.852", table)
    assert "broken – cannot be read" in table
    assert "labels" not in table
    assert words.index("Runs CSV") < words.index("Tournament: ") < words.index("Leaderboard")
    (tmp_path / "empty").mkdir()
    assert touche_rad("report", tmp_path / "empty", "-o", out, "--replace").code == 2


def test_a_bad_run_is_listed_and_the_others_are_shown(tmp_path: Path) -> None:
    good = evaluations(tmp_path / "good.jsonl", [debate(("U", "S.", "t"))])
    broken, out = tmp_path / "broken.jsonl", tmp_path / "r.html"
    broken.write_text(good.read_text("utf-8") + "{")
    ended = touche_rad("report", broken, good, tmp_path / "none.jsonl", "-o", out)
    assert ended.code == 1
    assert f"error: {broken}:2: " in ended.err
    index = islands(out.read_text("utf-8"))["data-debates"]
    assert [run["name"] for run in index["runs"]] == ["good"]
    text = " ".join(_page(out).text)
    assert f"broken: {broken}:2: " in text
    assert "none: " in text


def _damaged_runs(folder: Path) -> Path:
    """Write runs of two judges on the demo's debates, and damaged ones; return their labels."""
    debates = list(files.read_debates(demo_file("debates.jsonl")))
    good = evaluations(folder / "good.jsonl", debates, 0.9).read_text().splitlines()
    evaluations(folder / "noes.jsonl", debates, 0.1)
    odd = json.loads(good[3])
    odd["userTurnsEvaluations"][0]["Quality"]["score"] = "yes"
    half = [json.loads(line) for line in good]
    for turn in (turn for line in half for turn in line["userTurnsEvaluations"]):
        del turn["Quantity"]
    damaged = {
        "lost": [*good[:5], "{}", *good[6:]],
        "odd": [*good[:3], json.dumps(odd), *good[4:]],
        "half": [json.dumps(line) for line in half],
        "twice": [*good, good[2]],
        "cut": [*good[:5], good[5][:200], *good[6:]],
    }
    for name, lines in damaged.items():
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "claims.jsonl").write_bytes(demo_file("claims.tsv").read_bytes())
    (folder / "labels.jsonl").write_bytes(demo_file("labels.jsonl").read_bytes())
    return folder / "labels.jsonl"


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("whole_folder", [False, True])
def test_damaged_runs_are_ranked_as_by_score(
    tmp_path: Path, skip: bool, whole_folder: bool
) -> None:
    labels, out = _damaged_runs(tmp_path), tmp_path / "page" / "r.html"
    runs = sorted(set(tmp_path.glob("*.jsonl")) - {labels})
    skipping = ["--skip-bad"] if skip else []
    given = [tmp_path] if whole_folder else runs
    ended = touche_rad("report", *given, "--labels", labels, "-o", out, *skipping)
    scored = touche_rad("score", *runs, labels, "--json", *skipping)
    refused = ["claims"] if skip else ["claims", "cut"]
    assert (ended.code, sorted(json.loads(scored.out)["refused"])) == (1, refused)
    assert f"error: {tmp_path / 'claims.jsonl'}: expected a run (such as eval" in ended.err
    words = " ".join(" ".join(_page(out).text).split())
    head = words[: words.index("Scores of the runs")]
    count = f"{len(refused)} run{'s' * (len(refused) > 1)} could not be read: "
    assert count + ", ".join(refused) in head
    files_of_runs = f"8 files: {8 - len(refused)} runs scored, {len(refused)} not read"
    assert f"{files_of_runs} · 20 labelled debates, 60 turns" in head
    skipped = "cut: 1 invalid line skipped; the first: "
    assert (f"warning: {skipped}" in ended.err, skipped in head) == (skip, skip)
    assert head.count("half: missing verdict") == 1
    assert "half: missing verdict: 60 times, 60 verdicts counted as no" in head
    assert "lost: lost debate: line 6, debate 6: 12 verdicts counted as no" in head
    index = islands(out.read_text("utf-8"))["data-debates"]
    names = [run["name"] for run in index["runs"]]
    shown = [one for debate in index["debates"] for one in debate[3]]
    expected = {"lost": 19, "odd": 20, "half": 20, "twice": 20, "good": 20, "noes": 20}
    assert {name: shown.count(at) for at, name in enumerate(names)} == {
        **expected,
        **({"cut": 19} if skip else {}),
    }
    table = words[words.index("Scores of the runs") :]
    for one in json.loads(scored.out)["rows"]:
        if one["maxim"] == "mean" and one["run"] != "always-yes":
            assert re.search(rf" {one['run']} \d {one['f1']:.3f} ", table), one


def test_a_lost_debate_alone_does_not_stop_a_report(tmp_path: Path) -> None:
    _damaged_runs(tmp_path)
    out = tmp_path / "r.html"
    assert touche_rad("report", tmp_path / "lost.jsonl", "-o", out).code == 0
    words = " ".join(" ".join(_page(out).text).split())
    assert "1 run · 19 debates, 57 turns" in words
    assert "lost: lost debates, counted as no: 1 " in words
    assert re.search(r" lost 0\.950 [\d. to]+( 0\.950){4} 240 ", words)
    words = " ".join(("report", str(tmp_path / "twice.jsonl"), "-o", str(out), "--replace"))
    assert touche_rad(*words.split()).code == 0
    assert "1 run · 20 debates, 60 turns" in " ".join(_page(out).text)


def test_what_the_labels_do_not_judge_is_named_once(tmp_path: Path) -> None:
    labels, out = _damaged_runs(tmp_path), tmp_path / "r.html"
    for name in ("a", "b"):
        evaluations(tmp_path / f"{name}.jsonl", [debate(("U", "S.", "t"))])
    played = files.simulation_line(debate(("V", "S.", "t")))
    (tmp_path / "played.jsonl").write_text(f"{played}\n{{}}\n")
    runs = [tmp_path / f"{name}.jsonl" for name in ("good", "a", "b", "played")]
    ended = touche_rad("report", *runs, "--labels", labels, "-o", out)
    assert (ended.code, "warning: played: 1 lost debate left out" in ended.err) == (1, True)
    words = " ".join(" ".join(_page(out).text).split())
    assert "4 files: 1 run scored, 3 not scored · 20 labelled debates, 60 turns · 21 " in words
    assert "Warning: 2 runs are on other debates than the labels: a, b; the first: " in words
    assert words.count("not on the labelled debates") == 1


def test_missing_verdicts_are_no_and_repeated_debates_count_once(tmp_path: Path) -> None:
    _damaged_runs(tmp_path)
    other = evaluations(tmp_path / "other.jsonl", [debate(("U", "S.", "t"))])
    (tmp_path / "few.jsonl").write_text("".join((tmp_path / "good.jsonl").open().readlines()[1:]))
    runs = [tmp_path / f"{name}.jsonl" for name in ("half", "twice", "noes", "few", "lost")]
    write_report([*runs, other], tmp_path / "r.html")
    words = " ".join(" ".join(_page(tmp_path / "r.html").text).split())
    assert "half: missing verdicts, counted as no: 60 " in words
    assert "twice: debates given twice, the first counts: 1 " in words
    assert re.findall(r"(\w+): (?:debates missing|not comparable)", words) == ["few", "other"]
    assert re.search(r"twice 1\.000 [\d. to]+ 240 .*half 0\.750 [\d. to]+ 240 noes 0\.000 ", words)


@pytest.mark.parametrize("judges", [("length", "length"), ("length", "random")])
def test_only_runs_of_one_judge_are_compared(tmp_path: Path, judges: tuple[str, str]) -> None:
    runs = []
    for debater, judge in zip(("grounded", "verbatim"), judges, strict=True):
        played, run = tmp_path / f"{debater}.jsonl", tmp_path / f"{debater}.{judge}.jsonl"
        words = ("simulate", demo_file("claims.tsv"), "-i", "demo", "-d", debater, "--turns", "1")
        assert touche_rad(*words, "-o", played, "-q").code == 0
        assert touche_rad("judge", played, "-j", judge, "-o", run, "-q").code == 0
        runs.append(run)
    write_report(runs, tmp_path / "r.html")
    text = " ".join(_page(tmp_path / "r.html").text)
    compared = "grounded and verbatim have the same share of yes" in text
    assert (compared, "judges are not compared" in text) == (judges[0] == judges[1], not compared)


@pytest.mark.parametrize(
    ("claims", "score", "sentence"),
    [
        (9, 0.1, "b has the highest share of yes; too few claims (9) to tell more."),
        (9, 0.9, "a and b have the highest share of yes; too few claims (9) to tell more."),
        (10, 0.1, "b leads a by 1.000 share of yes, significantly"),
        (10, 0.9, "a and b have the same share of yes."),
    ],
)
def test_sentences_name_a_leader_from_ten_claims(
    tmp_path: Path, claims: int, score: float, sentence: str
) -> None:
    for name, of_run in (("a", score), ("b", 0.9)):
        own = [debate(("U", f"{name}.", "t"), claim=str(one)) for one in range(claims)]
        evaluations(tmp_path / f"{name}.jsonl", own, of_run)
    write_report([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "r.html")
    text = " ".join(_page(tmp_path / "r.html").text)
    assert (sentence in text, "significantly" in text) == (True, "significantly" in sentence)


def test_an_output_that_exists_stops_before_the_slow_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "touche_rad.report", None)
    (tmp_path / "r.html").write_text("x")
    ended = touche_rad("report", tmp_path / "none.jsonl", "-o", tmp_path / "r.html")
    assert (ended.code, "r.html exists already" in ended.err) == (2, True)


def test_labels_of_other_debates_are_refused_without_options_of_score(tmp_path: Path) -> None:
    labels = _damaged_runs(tmp_path)
    labels.write_text("".join(labels.read_text().splitlines(keepends=True)[1:]))
    ended = touche_rad("report", tmp_path / "good.jsonl", "--labels", labels, "-o", tmp_path / "p")
    scored = touche_rad("score", tmp_path / "good.jsonl", labels)
    for one, advice in ((ended, False), (scored, True)):
        assert (one.code, "expected 19 lines as in" in one.err) == (2, True)
        assert ("--by-place" in one.err, "--debates" in one.err) == (advice, advice)
    others = evaluations(tmp_path / "others.jsonl", [debate(("U", "S.", "t"))] * 20)
    labels = demo_file("labels.jsonl")
    scored = touche_rad("score", others, labels)
    assert (scored.code, "add --debates" in scored.err) == (2, False)


def test_no_text_of_a_plot_is_cut_at_its_top(tmp_path: Path) -> None:
    labels = _damaged_runs(tmp_path)
    write_report([tmp_path / "good.jsonl"], tmp_path / "r.html", labels=labels)
    plots = re.findall(r"<svg viewBox.*?</svg>", (tmp_path / "r.html").read_text(), re.S)
    assert len(plots) == 7
    for plot in plots:
        assert min(float(y) for y in re.findall(r'<text x="[^"]*" y="([^"]*)"', plot)) >= 16


def test_plots_put_values_where_they_belong() -> None:
    own = scale([0.5, 1.0])
    assert (own.low, own.high) == (0.5, 1.0)
    assert (own.across(0.5), own.across(1.0), own.across(2)) == (132, 338, 338)
    svg = dot_plot("F1", [Dot("a<b", 0.75, 0.5, 1.0), Dot("c", 1.0, None, None)], [("always", 0.5)])
    assert '<circle cx="286.5"' in svg
    assert '<line x1="235.0" y1="38" x2="338.0" y2="38"' in svg
    assert "a&lt;b" in svg
    assert "always 0.500" in svg
    pair = dot_plot("F1", [Dot(f"a long name of run {n}", 0.5, None, None) for n in (1, 2)], [])
    assert len(set(re.findall(r">([^<]*…[^<]*)<", pair))) == 2, "the ends of names differ"
    assert dot_plot("none", []).count("<circle") == 0


def test_a_citation_shows_its_search_path(tmp_path: Path) -> None:
    run, page = tmp_path / "run.jsonl", tmp_path / "page.html"
    words = ("respond", demo_file("debates.jsonl"), "-d", "grounded", "-i", "demo", "-o", run)
    assert touche_rad(*words).code == 0
    write_report([run], page)
    rows = [json.loads(line) for line in run.read_text("utf-8").splitlines()]
    paths = [one["path"] for row in rows for one in row["arguments"]]
    debates = islands(page.read_text("utf-8"))["part-d0"]
    turns = [turn for debate in debates for turn in debate if turn["answer"]]
    assert all(paths)
    assert paths == [one["path"] for turn in turns for one in turn["answer"]["citations"]]
