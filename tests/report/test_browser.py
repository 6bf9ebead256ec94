"""The report in a real browser: filter, compare, permalinks, keys, addresses, and hostile texts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser import OpenPage, assert_accessible, assert_fits
from tests.records import read_records
from tests.report.makers import NASTY, make_debate, write_evaluations
from touche_rad import files
from touche_rad.demo import demo_file
from touche_rad.report import write_report

pytestmark = pytest.mark.services

HEADER_OF_DEBATE = "document.querySelector('.reader header').textContent"
IS_BELOW_THE_BARS = """(id) => { const box = document.getElementById(id).getBoundingClientRect();
  return box.top >= document.querySelector('.tools').getBoundingClientRect().bottom - 1
    && box.top < innerHeight / 2; }"""


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a report on two judges of the demo's debates."""
    folder = tmp_path_factory.mktemp("judges")
    debates = list(files.read_debates(demo_file("debates.jsonl")))
    runs = [
        write_evaluations(folder / f"{name}.jsonl", debates, score)
        for name, score in (("strict", 0.1), ("kind", 0.9))
    ]
    line = runs[1].read_text("utf-8").replace('"score": 0.9', '"score": 0.1', 1)
    (folder / "almost.jsonl").write_text(line, "utf-8")
    runs.append(folder / "almost.jsonl")
    write_report(runs, folder / "report", labels=demo_file("labels.jsonl"))
    return (folder / "report" / "index.html").as_uri()


@pytest.fixture(scope="module")
def debaters(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a report on two debaters that differ in one of three turns."""
    folder = tmp_path_factory.mktemp("debaters")
    turns = [(f"Why {n}?", f"Answer {n}.", "t") for n in range(3)]
    changed = [turns[0], ("Why 1?", "Another answer.", "t"), turns[2]]
    first = write_evaluations(
        folder / "one.jsonl", [make_debate(*turns), make_debate(*turns, claim="Same.")], 0.9
    )
    second = write_evaluations(
        folder / "two.jsonl", [make_debate(*changed), make_debate(*turns, claim="Same.")], 0.9
    )
    write_report([first, second], folder / "report.html")
    return (folder / "report.html").as_uri()


def position(page: Any) -> str:
    text: str = page.locator(".pager .soft").inner_text()
    return text


def wait_for_position(page: Any, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('.pager .soft').textContent === text", arg=text
    )


def toggle_filter(page: Any) -> None:
    page.locator(".filter > summary").click()


def set_filter(page: Any, **values: str) -> None:
    toggle_filter(page)
    for name, value in values.items():
        page.select_option(f"select[name={name}]", value)
    toggle_filter(page)


def test_a_filter_is_in_the_address_and_survives_a_reload(open_page: OpenPage, judges: str) -> None:
    page = open_page(judges)
    wait_for_position(page, "1 of 20")
    set_filter(page, run="kind", maxim="quality", verdict="yes", label="no")
    page.wait_for_function("() => location.hash.includes('label=no')")
    result = position(page)
    assert result != "1 of 20"
    assert page.locator(".turn.other").count() + page.locator(".turn:not(.other)").count() == 3
    address = page.evaluate("location.hash")
    for part in ("run=kind", "maxim=quality", "verdict=yes", "label=no"):
        assert part in address
    page.reload()
    wait_for_position(page, result)
    assert page.locator("select[name=run]").input_value() == "kind"
    for leave in (lambda: page.keyboard.press("Escape"), page.locator("h1").first.click):
        toggle_filter(page)
        leave()
        assert page.locator(".filter[open]").count() == 0
    toggle_filter(page)
    page.get_by_role("button", name="Clear the filter").first.click()
    wait_for_position(page, "1 of 20")


def test_only_turns_on_which_judges_disagree(open_page: OpenPage, judges: str) -> None:
    page = open_page(f"{judges}#debates&disagree=1")
    wait_for_position(page, "1 of 20")
    page = open_page(f"{judges}#c1&view=compare&with=1.2&differ=1")
    wait_for_position(page, "1 of 1")
    assert page.locator(".turn").count() == 1
    assert page.locator(".compare .column").count() == 2


def test_runs_are_compared_where_they_differ(open_page: OpenPage, debaters: str) -> None:
    page = open_page(debaters)
    wait_for_position(page, "1 of 3")
    page.get_by_role("button", name="Compare").click()
    wait_for_position(page, "1 of 2")
    assert page.locator(".turn").count() == 3
    page.select_option("select[name=differ]", "1")
    wait_for_position(page, "1 of 1")
    assert page.locator(".turn").count() == 1
    assert "Another answer." in page.locator(".column").nth(1).inner_text()
    address = page.evaluate("location.href")
    reopened = open_page(address)
    wait_for_position(reopened, "1 of 1")
    assert reopened.locator(".column h5").all_inner_texts() == ["one", "two"]


@pytest.mark.parametrize("phone", [False, True])
def test_a_permalink_lands_below_the_bars(open_page: OpenPage, judges: str, phone: bool) -> None:
    page = open_page(f"{judges}#d7-t2", phone=phone)
    page.wait_for_selector("#d7-t2.here")
    assert page.evaluate(IS_BELOW_THE_BARS, "d7-t2")
    page.locator("#d7-t3 .who a").click()
    assert page.evaluate("location.hash").startswith("#d7-t3")
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_one_file_opens_and_searches_debates_of_all_parts(
    open_page: OpenPage, tmp_path: Path
) -> None:
    debates = [make_debate((f"word{n}", "x " * 60_000, "t"), claim=f"Claim {n}.") for n in range(8)]
    run = write_evaluations(tmp_path / "run.jsonl", debates)
    summary = write_report([run], tmp_path / "report.html")
    page = open_page(f"{summary.page.as_uri()}#d8-t1")
    page.wait_for_selector("#d8-t1.here")
    assert "Claim 7." in page.evaluate(HEADER_OF_DEBATE)
    page.keyboard.press("/")
    page.keyboard.type("word6")
    wait_for_position(page, "1 of 1")
    assert "Claim 6." in page.evaluate(HEADER_OF_DEBATE)
    page.keyboard.type(" and more")
    page.wait_for_selector("text=No debate matches the filter")


def test_keys_go_to_debates(open_page: OpenPage, judges: str) -> None:
    page = open_page(f"{judges}#d1")
    page.wait_for_selector(".reader .turn")
    for key, place in (("n", "#d2"), ("n", "#d3"), ("p", "#d2")):
        page.keyboard.press(key)
        page.wait_for_selector(f".reader header{place}")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert "Next debate" in page.locator("dialog").inner_text()


def test_marks_follow_hover_and_focus(open_page: OpenPage, tmp_path: Path) -> None:
    texts = ("Zoos help.", "Zoos breed rare animals.", "Zoos breed rare animals. They cost little.")
    run = write_evaluations(tmp_path / "run.jsonl", [make_debate(texts)])
    write_report([run], tmp_path / "report.html")
    page = open_page((tmp_path / "report.html").as_uri())
    page.locator("mark").first.hover()
    assert page.locator(".sentence.lit").count() == 1
    page.mouse.move(0, 0)
    assert page.locator(".lit").count() == 0
    page.locator(".ref").first.focus()
    assert page.locator("mark.lit").inner_text() == "Zoos breed rare animals."


def test_a_count_of_verdicts_and_labels_opens_its_turns(open_page: OpenPage, judges: str) -> None:
    page = open_page(judges)
    wait_for_position(page, "1 of 20")
    link = page.locator("a[href*='run=kind'][href*='maxim=quality'][href*='label=no']").first
    count = int(link.inner_text())
    link.click()
    page.wait_for_function("() => document.querySelector('select[name=label]').value === 'no'")
    turns = 0
    total = int(position(page).split(" of ")[1])
    for _ in range(total):
        turns += page.locator(".turn:not(.other)").count()
        before = position(page)
        page.keyboard.press("n")
        if not before.startswith(f"{total} "):
            page.wait_for_function(
                "text => document.querySelector('.pager .soft').textContent !== text", arg=before
            )
    assert turns == count


def test_a_table_is_downloaded_as_csv(open_page: OpenPage, judges: str) -> None:
    page = open_page(judges)
    with page.expect_download() as download:
        page.locator("#scores .csv").first.click()
    heads, *rows = csv.reader(Path(download.value.path()).read_text("utf-8").splitlines())
    assert heads[:3] == ["run", "rank", "mean F1"]
    assert {row[0] for row in rows} == {"kind", "almost", "strict", "always-yes"}


def test_columns_are_sorted_by_keyboard(open_page: OpenPage, judges: str) -> None:
    page = open_page(judges)
    table = page.locator("#scores table").first
    button = table.locator("th button", has_text="accuracy")
    button.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    cells = table.locator("td[data-label=accuracy]").all_inner_texts()
    assert cells == sorted(cells)


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_are_accessible_and_fit(
    open_page: OpenPage, judges: str, debaters: str, phone: bool, dark: bool
) -> None:
    for address in (judges, f"{debaters}#c1&view=compare&with=0.1"):
        page = open_page(address, phone=phone, dark=dark)
        page.wait_for_selector(".reader .turn")
        assert_accessible(page)
        assert_fits(page)


def test_a_printed_report_has_its_intervals_and_no_controls(
    open_page: OpenPage, judges: str
) -> None:
    page = open_page(judges)
    page.wait_for_selector(".reader .turn")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('svg .bar')).display") != "none"
    for hidden in ("header.bar", ".tools", ".list"):
        assert not page.locator(hidden).first.is_visible()


@pytest.mark.parametrize("out", ["report.html", "report"])
def test_hostile_texts_stay_texts(open_page: OpenPage, tmp_path: Path, out: str) -> None:
    debates = [make_debate(*((text, end, text) for end in NASTY[:3]), claim=text) for text in NASTY]
    run = write_evaluations(tmp_path / "nasty.jsonl", debates)
    summary = write_report([run], tmp_path / out, title=f"Honest {NASTY[1]}")
    page = open_page(f"{summary.page.as_uri()}#d1&text={quote('<script>')}")
    page.wait_for_selector(".reader .turn")
    page.wait_for_timeout(300)
    assert page.title().startswith("Honest")
    assert page.locator("img, iframe, object, [onerror], [onmouseover]").count() == 0
    assert "</script>" in page.locator(".reader").inner_text()
    assert_fits(page)


def test_rankings_are_browsed(open_page: OpenPage, tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    run.write_text("claim-1 Q0 101.1 1 2.0 t\nclaim-2 Q0 102.1 1 2.0 t\n", "utf-8")
    texts = {"claim-1": "First claim", "claim-2": "Second claim"}
    write_report([run], tmp_path / "r.html", queries=texts, index="demo")
    page = open_page(f"{(tmp_path / 'r.html').as_uri()}#q2", phone=True)
    wait_for_position(page, "2 of 2")
    assert "Second claim" in page.evaluate(HEADER_OF_DEBATE)
    assert page.locator(".reader li .text").inner_text()
    assert page.locator(".filter").count() == 0
    assert_accessible(page)
    assert_fits(page)


def test_whole_debates_are_browsed(open_page: OpenPage, tmp_path: Path) -> None:
    contest = read_records(demo_file("contests.jsonl"))[0]
    lines = []
    for judge, winner in (("a", "Mara"), ("b", "Teo")):
        outcome = {"winner": winner, "scores": {"Mara": {"general": 8}, "Teo": {"general": 5}}}
        lines.append((judge, json.dumps({"id": contest["id"], "judge": judge, "outcome": outcome})))
    for judge, line in lines:
        (tmp_path / f"{judge}.jsonl").write_text(line + "\n", "utf-8")
    runs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    write_report(runs, tmp_path / "w.html", labels=demo_file("contests.jsonl"))
    for phone in (False, True):
        page = open_page(f"{(tmp_path / 'w.html').as_uri()}#wholes&disagree=1", phone=phone)
        wait_for_position(page, "1 of 1")
        assert page.locator(".reader .turn").count() == 2
        toggle_filter(page)
        assert_accessible(page)
        assert_fits(page)
