"""The report: one page, self-contained, with nothing of the debates' text taken for markup."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from touche_rad import files
from touche_rad.debate import MOST_STEPS, Argument, Debate, Maxim, Response, Turn, Verdict
from touche_rad.demo import demo_file
from touche_rad.errors import InputError
from touche_rad.plots.svg import Dot, across, dots, histogram
from touche_rad.report import write_report
from touche_rad.report.conversations import supported

NASTY = (
    "</script><script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>",
    "\"' onmouseover='x' & <b>bold</b> {{ 7*7 }} {% raw %}", "\u202eright to left\u202c مرحبا 😀",
    "\x00 nul \ud800 surrogate", "x" * 50_000, "]]> --> &lt; http://evil.example/x.png",
)  # fmt: skip


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


def _evaluations(path: Path, debates: list[Debate], score: float = 0.25) -> Path:
    verdicts = {maxim: Verdict(score=score, rationale=f"as {maxim} goes") for maxim in Maxim}
    lines = [
        files.evaluation_line(files.Evaluation(one, tuple(verdicts for _ in one.turns)))
        for one in debates
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _debate(*said: tuple[str, str, str], claim: str = "A claim.") -> Debate:
    turns = tuple(
        Turn(
            utterance=user,
            response=Response(content=system, arguments=(Argument(id="1", text=text),)),
        )
        for user, system, text in said
    )
    return Debate(claim=claim, turns=turns)


def _page(out: Path) -> Page:
    return Page(out.read_text("utf-8"))


def test_the_page_holds_scores_labels_and_each_turn(tmp_path: Path) -> None:
    debates = list(files.read_debates(demo_file("debates.jsonl")))
    yes = _evaluations(tmp_path / "yes.jsonl", debates, 0.9)
    no = _evaluations(tmp_path / "no.jsonl", debates, 0.1)
    out = tmp_path / "report.html"
    summary = write_report([yes, no], out, labels=demo_file("labels.jsonl"))
    assert (summary.debates, summary.turns, summary.left_out) == (20, 60, 0)
    page = _page(out)
    text = " ".join(page.text)
    assert "always-yes" in text
    assert text.count("hand label") > 20
    ids = {value for key, value in page.attributes if key == "id"}
    assert {"d1", "d20", "d1-t1", "d20-t3", "scores", "plots"} <= ids
    assert page.tags.count("svg") >= 3
    marks = [value or "" for key, value in page.attributes if key == "data-marks"]
    labels = [turn for one in files.read_labels(demo_file("labels.jsonl")) for turn in one]
    assert sum("differs" in mark for mark in marks) == sum(
        any(label is not None for label in turn.values()) for turn in labels
    )


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    run = _evaluations(tmp_path / "run.jsonl", list(files.read_debates(demo_file("debates.jsonl"))))
    pages = []
    for name in ("one.html", "two.html"):
        write_report([run], tmp_path / name, labels=demo_file("labels.jsonl"))
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]


def test_nothing_is_fetched_and_no_text_becomes_markup(tmp_path: Path) -> None:
    debates = [_debate(*((one, other, one) for other in NASTY[:3]), claim=one) for one in NASTY]
    run = _evaluations(tmp_path / "nasty.jsonl", debates)
    write_report([run], tmp_path / "r.html", title=NASTY[0])
    page = _page(tmp_path / "r.html")
    assert page.tags.count("script") == 1
    assert not {"img", "iframe", "link", "object"} & set(page.tags)
    loaded = [value or "" for key, value in page.attributes if key in ("src", "href", "action")]
    assert all(value.startswith("#") for value in loaded)
    assert not any(key.startswith("on") for key, _ in page.attributes)
    policy = next(
        value for key, value in page.attributes if key == "content" and "default" in str(value)
    )
    assert "default-src 'none'" in str(policy)


def test_the_number_of_omitted_debates_is_shown(tmp_path: Path) -> None:
    debates = [_debate((f"U{n}", f"S{n}.", "t")) for n in range(5)]
    run = _evaluations(tmp_path / "run.jsonl", debates)
    summary = write_report([run], tmp_path / "r.html", max_debates=2)
    assert (summary.debates, summary.left_out) == (5, 3)
    assert "3 more debates are not shown" in (tmp_path / "r.html").read_text()


def test_simulations_without_verdicts_and_unanswered_turns_are_shown(tmp_path: Path) -> None:
    debate = _debate(("U1", "S1.", "S1.")).with_utterance("U2")
    (tmp_path / "sim.jsonl").write_text(files.simulation_line(debate) + "\n")
    write_report([tmp_path / "sim.jsonl"], tmp_path / "r.html")
    text = " ".join(_page(tmp_path / "r.html").text)
    assert "No response." in text
    assert "contain no verdicts" in text


def test_a_retrieval_run_is_scored(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    write_report([tmp_path / "a.run"], tmp_path / "r.html", labels=tmp_path / "qrels")
    assert "nDCG@10" in (tmp_path / "r.html").read_text()


def test_a_file_of_no_kind_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello\n")
    with pytest.raises(InputError, match="of no known kind"):
        write_report([tmp_path / "x"], tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("response", "found"),
    [
        ("Zoos breed rare animals.", [("quoted", 0)]),
        ("But wait: zoos breed rare animals.", [("quoted", 0)]),
        ("Cages are cruel, and licences help.", [("near", 1)]),
        ("A study from Mars proves it.", [("none", None)]),
        ("Zoos breed rare animals. Licences close cruel cages.", [("quoted", 0), ("quoted", 1)]),
        ("", []),
    ],
)
def test_each_sentence_is_matched_to_its_argument(
    response: str, found: list[tuple[str, int | None]]
) -> None:
    cited = ["Zoos breed rare animals. They do.", "Licences close cruel cages."]
    assert [(one.how, one.argument) for one in supported(response, cited)] == found


def test_plots_put_values_where_they_belong() -> None:
    assert (across(0), across(0.5), across(1), across(2)) == (150, 390, 630, 630)
    svg = dots("F1", [("quality", [Dot("a<b", 0.5, 0.25, 0.75, 0), Dot("c", 1.0, None, None, 1)])])
    assert '<circle cx="390.0"' in svg
    assert '<line x1="270.0" y1="44" x2="510.0" y2="44"' in svg
    assert "a&lt;b" in svg
    bars = histogram("words", [3, 4, 57], 0)
    tall = [float(height) for height in re.findall(r'height="([\d.]+)" class="mark', bars)]
    assert tall == [110.0, 55.0]
    assert histogram("none", [], 0).count("<rect") == 0


def _dom(
    chromium: str, tmp_path: Path, page: Path, *flags: str, width: int = 1280, at: str = ""
) -> str:
    done = subprocess.run(
        [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000",
         f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},1000", *flags,
         f"file://{page}{at}"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


def _measuring(page: Path) -> Path:
    """The same page without its policy, and with a script that writes down what a person would see."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    script = (
        "<script>document.documentElement.dataset.seen = JSON.stringify({"
        "over: Math.max(0, document.documentElement.scrollWidth - innerWidth),"
        "paper: getComputedStyle(document.body).backgroundColor,"
        "turns: document.querySelectorAll('.exchange:not(.away)').length,"
        "count: document.getElementById('count').textContent})</script>"
    )
    measured = page.with_name("measured.html")
    measured.write_text(text.replace("</body>", script + "</body>"), "utf-8")
    return measured


def _seen(dom: str) -> dict[str, object]:
    found = re.search(r'data-seen="([^"]*)"', dom)
    assert found is not None
    return json.loads(found.group(1).replace("&quot;", '"'))  # type: ignore[no-any-return]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    debates = [*files.read_debates(demo_file("debates.jsonl"))]
    run = _evaluations(tmp_path / "a-judge-of-a-rather-long-name.jsonl", debates)
    write_report([run], tmp_path / "report.html", labels=demo_file("labels.jsonl"))
    return tmp_path / "report.html"


@pytest.mark.services
@pytest.mark.parametrize("width", [500, 1280])
@pytest.mark.parametrize(
    ("theme", "paper"), [("dark", "rgb(20, 23, 26)"), ("light", "rgb(255, 255, 255)")]
)
def test_a_browser_shows_all_of_it(
    chromium: str, tmp_path: Path, page: Path, width: int, theme: str, paper: str
) -> None:
    at = f"#theme={theme}"
    seen = _seen(_dom(chromium, tmp_path, _measuring(page), "--dump-dom", width=width, at=at))
    assert seen == {"over": 0, "paper": paper, "turns": 60, "count": "60 turns shown"}


@pytest.mark.services
def test_a_browser_runs_our_script_and_no_other(chromium: str, tmp_path: Path) -> None:
    debates = [_debate(*((one, other, one) for other in NASTY[:3]), claim=one) for one in NASTY]
    write_report([_evaluations(tmp_path / "n.jsonl", debates)], tmp_path / "r.html", title="Honest")
    dom = _dom(chromium, tmp_path, tmp_path / "r.html", "--dump-dom")
    assert "<title>Honest</title>" in dom
    assert "21 turns shown" in dom


@pytest.mark.services
def test_the_page_can_be_printed(chromium: str, tmp_path: Path, page: Path) -> None:
    pdf = tmp_path / "report.pdf"
    _dom(chromium, tmp_path, page, f"--print-to-pdf={pdf}")
    assert pdf.read_bytes().startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) > 5


@pytest.mark.long
def test_a_citation_shows_its_search_path(tmp_path: Path, demo_index_path: Path) -> None:
    source, run, page = demo_file("debates.jsonl"), tmp_path / "run.jsonl", tmp_path / "page.html"
    for words in (
        ["respond", str(source), "-o", str(run), "-d", "grounded", "-i", str(demo_index_path)],
        ["report", str(run), "-o", str(page)],
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "touche_rad", *words], capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in run.read_text("utf-8").splitlines()]
    cited = [one for row in rows for one in row["arguments"][:1]]
    assert len(cited) >= 55
    assert all(1 <= len(one["path"]) <= 2 for one in cited)
    shown = " ".join("".join(Page(page.read_text("utf-8")).text).split())
    for one in cited:
        assert f"reached: {' → '.join(' '.join(step.split()) for step in one['path'])}" in shown


@pytest.mark.parametrize("told", ["a text", 7, {"a": "b"}, [["a"], 7], None])
def test_an_invalid_search_path_is_not_shown(tmp_path: Path, told: object) -> None:
    argument = Argument.model_validate({"id": "1", "text": "T.", "path": told})
    turn = Turn(utterance="u", response=Response(content="T.", arguments=(argument,)))
    debates = [Debate(id="d", claim="c", turns=(turn,))]
    write_report([_evaluations(tmp_path / "run.jsonl", debates)], tmp_path / "page.html")
    assert "reached:" not in (tmp_path / "page.html").read_text("utf-8")


def test_a_hostile_path_is_shown_as_text_and_not_whole(tmp_path: Path) -> None:
    argument = Argument.model_validate({"id": "1", "text": "T.", "path": [*NASTY, *NASTY]})
    plain = Argument.model_validate({"id": "1", "text": "T.", "path": ["a"]})
    pages = []
    for one in (argument, plain):
        turn = Turn(utterance="u", response=Response(content="T.", arguments=(one,)))
        run = _evaluations(tmp_path / "run.jsonl", [Debate(id="d", claim="c", turns=(turn,))])
        write_report([run], tmp_path / "page.html")
        pages.append(Page((tmp_path / "page.html").read_text("utf-8")))
    hostile, tame = pages
    steps = min(len(NASTY), MOST_STEPS)
    assert sorted(hostile.tags) == sorted([*tame.tags, *["bdi"] * (steps - 1)])
    assert not {name for name, _ in hostile.attributes} - {name for name, _ in tame.attributes}
    assert NASTY[1] in "".join(hostile.text)
    assert len(max(hostile.text, key=len)) < 20_000
