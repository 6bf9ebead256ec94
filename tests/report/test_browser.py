"""The report in a real browser: filter, compare, permalinks, keys, addresses, and hostile texts."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser import (
    LAPTOP,
    PHONE,
    TABLET,
    OpenPage,
    assert_accessible,
    assert_count,
    assert_fits,
)
from tests.demo import CONTESTS, DEBATES, LABELS
from tests.records import END_OF_RUN, read_records, write_lines, write_records
from tests.report.makers import NASTY, NASTY_DEBATES, make_debate, write_evaluations
from touche_rad import files
from touche_rad.criteria import grice
from touche_rad.debate import NOTHING_FOUND
from touche_rad.report import write_report

pytestmark = pytest.mark.services

SCORE = '"score"'
FALLBACK = '"fallback": "timeout", "score"'
RELATION = '"Relation": {"score": 0.9'
TITLE = ".reader h2"
NUMBERS = """() => [rad.number(.825), rad.signed(-.003), rad.between(-.003, .041),
  rad.signed(-.0004)].join(" ")"""
IS_IN_THE_WINDOW = """(selector) => { const box = document.querySelector(selector).getBoundingClientRect();
  const rows = selector === '.pair' ? [...document.querySelectorAll('.run')] : [];
  return box.top >= document.querySelector('.bar').offsetHeight - 1 && box.bottom <= innerHeight + 1 &&
    rows.every((row) => row.getBoundingClientRect().bottom <= box.top); }"""
IS_IN_VIEW = """(element) => { const { left, right } = element.getBoundingClientRect();
  return left >= 0 && right <= innerWidth; }"""
ARE_WHOLE_OR_COVERED = """() => { const cells = [...document.querySelectorAll('.grid tbody tr:first-child td')];
  const edge = cells.at(-1).getBoundingClientRect().left;
  return cells.every((cell) => { const { left, right } = cell.getBoundingClientRect();
    return right <= edge + 1 || left >= edge - 1; }); }"""
NAMES_ARE_WHOLE = """() => [...document.querySelectorAll('.run bdi, .run bdi *')]
  .every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)"""
NO_NEAR_HALF = """() => { const place = document.createElement('p');
  rad.mount(rad.Verdict({ name: '', yes: false, score: .4972 }), place); return place.textContent; }"""
CITATIONS_AT_THE_START_OF_A_LINE = """() => [...Array(80).keys()].filter((number) => {
  const answer = document.querySelector('.answer');
  answer.style.width = `${140 + 4 * number}px`;
  return [...answer.querySelectorAll('.ref')].some((citation) =>
    citation.getBoundingClientRect().left < answer.getBoundingClientRect().left + 8); }).length"""
PRESS_AT_ONCE = """async (keys) => { for (const key of keys) {
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  await null; } }"""
ITEMS_WITHOUT_NUMBERS = """[...document.querySelectorAll('.pair li')]
  .filter((item) => getComputedStyle(item).listStyleType === 'none').length"""
HAS_ROOM = """({ scrollWidth, clientWidth, children }) => scrollWidth <= clientWidth &&
  [...children[0].querySelectorAll('.ranking thead th')]
    .every((head) => parseFloat(getComputedStyle(head).paddingRight) >= 4) &&
  [...children[0].querySelectorAll('.ranking small')].every((head) => {
    head.style.overflowWrap = 'normal'; return head.scrollWidth <= head.clientWidth; })"""
LABELS_ARE_APART = """() => [40, 60, 90, 120].every((width) => {
  const range = new Range();
  document.querySelector('.axis').style.cssText = `min-width: ${width}px; max-width: ${width}px`;
  const labels = [...document.querySelectorAll('.axis i')].flatMap((label) => {
    range.selectNodeContents(label);
    const text = [...range.getClientRects()].at(-1);
    return text?.top < label.getBoundingClientRect().bottom ? text : [];
  });
  return labels.length && labels.every(({ left }, at) => !at || left >= labels[at - 1].right);
})"""
WORDS_ARE_WHOLE = """() => {
  const range = new Range();
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const isWhole = ({ 0: word, index }) => {
    range.setStart(texts.currentNode, index);
    range.setEnd(texts.currentNode, index + word.length);
    return range.getClientRects().length < 2;
  };
  while (texts.nextNode()) {
    if (![...texts.currentNode.data.matchAll(/\\w+/g)].every(isWhole)) return false;
  }
  return true;
}"""
LOOK_OF_AN_OPENED_ROW = """() => {
  const name = document.querySelector('.run [aria-expanded=true]');
  const row = document.querySelector('tr:has(.opened)');
  return `${getComputedStyle(name, '::before').content} on ${getComputedStyle(row).backgroundColor}`;
}"""
POSITION = (
    "document.querySelector('.pager .soft')?.textContent.match(/^(\\d+ of \\d+) in the list/)?.[1]"
)
TAB_STOPS = """() => [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]
  .filter(element => element.tabIndex >= 0 && element.checkVisibility()).length"""
WORK = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
"""What a page costs a browser, which does not wait for the machine's other work."""


TURNS = [(f"Why {n}?", f"Answer {n}.", "t") for n in range(3)]


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a report on two judges of the demo's debates."""
    folder = tmp_path_factory.mktemp("judges")
    debates = list(files.read_debates(DEBATES))
    runs = [
        write_evaluations(folder / f"{name}.jsonl", debates, score)
        for name, score in (("strict", 0.1), ("kind", 0.9))
    ]
    for run, verdicts in zip(runs, (9, 5), strict=True):
        run.write_text(run.read_text("utf-8").replace(SCORE, FALLBACK, verdicts), "utf-8")
    text = runs[1].read_text("utf-8").replace(RELATION, RELATION.replace("9", "1"), 1)
    identity = {"output": "kind.jsonl", "identity": {"judge": "length"}}
    write_records(folder / "kind.jsonl.status.json", END_OF_RUN | identity)
    runs.append(write_lines(folder / "almost.jsonl", text.splitlines()))
    return report_on(runs, folder)


@pytest.fixture(scope="module")
def debaters(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a report on two debaters that differ in one of three turns."""
    folder = tmp_path_factory.mktemp("debaters")
    changed = [TURNS[0], ("Why 1?", "Another answer.", "t"), TURNS[2]]
    first = write_evaluations(
        folder / "one.jsonl", [make_debate(*TURNS), make_debate(*TURNS, claim="Same.")], 0.9
    )
    second = write_evaluations(
        folder / "two.jsonl", [make_debate(*changed), make_debate(*TURNS, claim="Same.")], 0.9
    )
    text = second.read_text("utf-8").replace("0.9", "0.1", 8).replace("0.1", "0.9", 4)
    second.write_text(text, "utf-8")
    return address_of([first, second], folder / "report.html")


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a folder report on 20 runs of the demo's debates."""
    folder = tmp_path_factory.mktemp("twenty")
    debates = list(files.read_debates(DEBATES))
    runs = []
    for number in range(20):
        run = write_evaluations(folder / f"team{number}-submission-run-1.jsonl", debates, 0.9)
        text = run.read_text("utf-8").replace("0.9", "0.1", 12 * number)  # three turns a debate
        run.write_text(text, "utf-8")
        runs.append(run)
    return report_on(runs, folder)


def report_on(runs: list[Path], folder: Path) -> str:
    """Write a report of several files, scored against the demo's labels, and return its address."""
    return address_of(runs, folder / "report", labels=LABELS)


def address_of(runs: list[Path], out: Path, **options: Any) -> str:
    """Write a report, and return its address."""
    return write_report(runs, out, **options).page.as_uri()


def position(page: Any) -> str:
    return str(page.evaluate(POSITION))


def wait_for_position(page: Any, text: str) -> None:
    page.wait_for_function(f"text => {POSITION} === text", arg=text)


def go_to(page: Any, tab: str) -> None:
    page.get_by_role("link", name=tab).click()


def add_filter(page: Any, **values: str) -> None:
    for name, value in values.items():
        page.select_option("select[name=filter]", f"{name}={value}")


def test_a_filter_is_in_the_address_and_survives_a_reload(open_page: OpenPage, judges: str) -> None:
    page = open_page(f"{judges}#debates")
    wait_for_position(page, "1 of 20")
    page.keyboard.press("End")
    add_filter(page, run="kind", maxim="quality", verdict="yes", label="no")
    page.wait_for_function("() => location.hash.includes('label=no')")
    result = position(page)
    assert result != "1 of 20"
    page.wait_for_function(IS_IN_THE_WINDOW, arg=TITLE)
    address = page.evaluate("location.hash")
    assert "run=kind&maxim=quality&verdict=yes&label=no" in address
    page.reload()
    wait_for_position(page, result)
    chips = page.locator(".chips button")
    assert chips.count() == 4
    for _ in range(4):
        chips.first.click()
    wait_for_position(page, "1 of 20")


def test_order_and_reason_follow_the_selected_run_and_criterion(
    open_page: OpenPage, judges: str
) -> None:
    labels = read_records(LABELS)
    page = open_page(f"{judges}#debates&run=kind")
    for keys in (list(grice().keys), ["relation"]):
        against = [sum(turn[key] == 0 for turn in debate for key in keys) for debate in labels]
        first = against.index(max(against)) + 1  # kind always says yes
        page.wait_for_selector(f".list li:first-child a:has-text('{first}. ')")
        add_filter(page, maxim="relation")
    assert page.locator(".reader > .soft").first.inner_text().startswith("3 of 3 runs")
    about = "Most red first, of kind. Red: the share of judges against the label."
    assert about in page.locator(".list p").inner_text()
    page.wait_for_selector(".reason b:has-text('kind') + .verdict:has-text('Relation')")
    assert page.locator(".verdict-table th .score").all_inner_texts() == ["length"]


def test_a_strip_is_of_all_runs_or_of_the_selected_run(open_page: OpenPage, debaters: str) -> None:
    for state in ("", "&run=two"):
        page = open_page(f"{debaters}#debates{state}")
        wait_for_position(page, "1 of 2")
        assert_count(page, "nav li:first-child .strip", 1)


def test_runs_with_long_names_fit_and_debates_of_many_say_that_others_can_be_selected(
    open_page: OpenPage, tmp_path: Path
) -> None:
    runs = [
        write_evaluations(
            tmp_path / f"{name}.jsonl",
            [make_debate(("Why?", name, "t"), claim=claim) for claim in "0123456789"],
        )
        for name in (
            "a-debater-with-a-model-of-many-arguments-and-debates",
            "debater_with_a_large_language_model_and_b_arguments",
            "debater_with_a_large_language_model_and_c_arguments",
            "d",
        )
    ]
    page = open_page(address_of(runs, tmp_path / "r.html"))
    page.get_by_text("All measures", exact=True).first.click()
    assert page.locator("details thead th").last.evaluate(IS_IN_VIEW)
    assert page.locator(".ranking small").last.bounding_box()["height"] < 70
    page.set_viewport_size(PHONE)
    assert page.evaluate(WORDS_ARE_WHOLE)
    go_to(page, "Debates")
    page.wait_for_selector(".reader > .soft:has-text('3 of 4 runs shown; select others')")


def test_only_turns_on_which_judges_disagree(open_page: OpenPage, judges: str) -> None:
    page = open_page(f"{judges}#debates&disagree=1")
    wait_for_position(page, "1 of 20")
    page = open_page(f"{judges}#debates&with=1.2&differ=verdicts")
    wait_for_position(page, "1 of 1")
    assert_count(page, ".turns button:not(.other)", 1)
    assert_count(page, ".verdict-table tbody tr:not(.label)", 2)
    page = open_page(f"{judges}#d1&with=1")
    page.wait_for_selector(".verdict-table .label")
    assert_count(page, "text=framed", 0)


def test_runs_are_compared_where_they_differ(open_page: OpenPage, debaters: str) -> None:
    page = open_page(f"{debaters}#debates")
    wait_for_position(page, "1 of 2")
    assert_count(page, ".turns button", 3)
    add_filter(page, differ="1")
    wait_for_position(page, "1 of 1")
    assert_count(page, ".turns button:not(.other)", 1)
    assert "Another answer." in page.locator(".compare > div").nth(1).inner_text()
    assert_count(page, "blockquote:visible", 1)  # the message once
    assert_count(page, ".differs", 4)
    assert page.get_by_text("A framed verdict differs from one.").is_visible()
    reopened = open_page(page.evaluate("location.href"))
    wait_for_position(reopened, "1 of 1")
    assert reopened.locator(".compare h3").all_inner_texts() == ["one", "two"]
    page = open_page(f"{debaters}#d1&with=1.0")
    page.wait_for_selector(".compare")
    assert page.locator(".compare h3").all_inner_texts() == ["two", "one"]
    assert "two, one (strips in this order)" in page.locator(".list p").inner_text()


def test_one_file_opens_and_searches_debates_of_all_parts(
    open_page: OpenPage, tmp_path: Path
) -> None:
    debates = [make_debate((f"word{n}", "x " * 60_000, "t"), claim=f"Claim {n}.") for n in range(8)]
    address = address_of(
        [write_evaluations(tmp_path / "run.jsonl", debates)], tmp_path / "report.html"
    )
    page = open_page(f"{address}#d8-t1")
    page.wait_for_selector("#d8-t1")
    assert "Claim 7." in page.locator(TITLE).inner_text()
    page.keyboard.press("/")
    page.keyboard.type("word6")
    wait_for_position(page, "1 of 1")
    assert "Claim 6." in page.locator(TITLE).inner_text()
    page.wait_for_function(IS_IN_THE_WINDOW, arg=TITLE)
    assert page.locator("mark.found").inner_text() == "word6"
    page.keyboard.type(" and more")
    page.wait_for_selector("text=No debate matches the filter")
    page.wait_for_function(IS_IN_THE_WINDOW, arg=".reader .notice")


def test_keys_go_to_debates_and_turns(open_page: OpenPage, judges: str) -> None:
    page = open_page(f"{judges}#debates")
    wait_for_position(page, "1 of 20")
    for key, place in (("j", "2 of 20"), ("j", "3 of 20"), ("k", "2 of 20")):
        page.keyboard.press(key)
        wait_for_position(page, place)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.endsWith('-t2')")
    page.keyboard.press("3")
    page.wait_for_selector(".reason:has-text('Relation')")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert "Next debate" in page.locator("dialog").inner_text()
    page.keyboard.press("?")
    page.evaluate(PRESS_AT_ONCE, "Tj")
    page.wait_for_selector(".ranking")
    page.keyboard.press("?")
    assert page.locator("dialog dt").all_inner_texts() == ["?", "t", "T"]


def test_marks_follow_hover_and_focus(open_page: OpenPage, tmp_path: Path) -> None:
    answer = f"Zoos breed rare animals. They cost little. {'Penguins swim far. ' * 6}"
    texts = ("Zoos help.", answer, "Zoos breed rare animals. They cost little.")
    run = write_evaluations(tmp_path / "run.jsonl", [make_debate(texts)])
    address = address_of([run], tmp_path / "report.html")
    page = open_page(f"{address}#debates")
    page.locator("mark").first.hover()
    assert_count(page, ".sentence.lit", 1)
    page.mouse.move(0, 0)
    assert_count(page, ".lit", 0)
    assert page.evaluate(CITATIONS_AT_THE_START_OF_A_LINE) == 0
    page.locator(".ref").first.focus()
    assert page.locator("mark.lit").inner_text() == "Zoos breed rare animals."
    page.keyboard.press("Enter")
    assert_count(page, ".citation:focus", 1)


def test_a_row_opens_its_errors_and_a_count_opens_its_turns(
    open_page: OpenPage, judges: str
) -> None:
    page = open_page(judges)
    assert page.evaluate(LABELS_ARE_APART)
    kind = page.get_by_role("button", name="kind 5 fallbacks", exact=True)
    kind.click()
    page.locator(".opened").hover()
    assert page.evaluate(LOOK_OF_AN_OPENED_ROW) == '"▾" / "" on rgba(0, 0, 0, 0)'
    link = page.locator(".opened a[href*='maxim=quality'][href*='label=no']")
    count = int(link.inner_text())
    link.click()
    page.wait_for_selector(".chips button >> nth=3")
    total = int(position(page).split(" of ")[1])
    page.get_by_text(f"1 of {total} in the list, {count} turns").wait_for()
    for number in range(1, total + 1):
        wait_for_position(page, f"{number} of {total}")
        count -= page.locator(".turns button:not(.other)").count()
        page.keyboard.press("j")
    assert count == 0
    go_to(page, "Ranking")
    kind.click()
    page.get_by_role("link", name="verdicts are fallbacks").click()
    page.get_by_text("1 of 1 in the list, 5 verdicts in 2 turns").wait_for()


def test_a_count_of_faults_opens_what_it_counts(open_page: OpenPage, tmp_path: Path) -> None:
    claims = [make_debate(*[("Why?", "So.", "t")] * 3, claim=claim) for claim in "ABC"]
    runs = [write_evaluations(tmp_path / "late.jsonl", claims), tmp_path / "lost.jsonl"]
    records = read_records(runs[0])
    write_records(runs[1], records[0], {}, records[2])
    first, second, _ = records[2]["simulation"]["userTurns"]
    first["systemResponse"]["utterance"] = NOTHING_FOUND
    second["systemResponse"]["response"]["fallback"] = "the model did not answer"
    write_records(runs[0], *records)
    runs.append(write_records(tmp_path / "gone.jsonl", {**records[0], "simulation": {}}))
    page = open_page(address_of(runs, tmp_path / "r.html"))
    lines = "options => options.map((option) => option.getClientRects().length)"
    options = page.locator(".option:text-is('--baseline')")
    assert options.evaluate_all(lines) == [1]
    page.get_by_role("button", name="lost 1 fault", exact=True).click()
    for name in ("lost", "late"):
        page.get_by_role("checkbox", name=f"Compare {name}").check()
    for place in (".opened", ".pair"):
        assert (
            "lost: 1 lost debate (on an empty or invalid line): 2. B"
            in page.locator(f"{place} .error").all_inner_texts()
        )
    page.locator(".opened").get_by_role("link", name="missing or lost debates").click()
    wait_for_position(page, "1 of 1")
    assert page.locator(".reader").inner_text() == "2. B\n\nlost has no debate on this claim."
    for name, turn in (("fallback", "Turn 2"), ("no-argument response", "Turn 1")):
        go_to(page, "Ranking")
        page.get_by_role("button", name="late 2 faults", exact=True).click()
        page.locator(".opened").get_by_role("link", name=name).click()
        wait_for_position(page, "1 of 1")
        assert page.locator(".turns button:not(.other)").inner_text() == turn
    page.evaluate("location.hash = 'd2'")
    page.get_by_text("1 of 2 runs shown").wait_for()
    assert_count(page, "option:text-is('gone')", 0)
    records[0]["simulation"]["configuration"]["maxTurns"] = 5
    runs = [write_records(tmp_path / f"{name}.jsonl", records[0]) for name in ("short", "same")]
    page = open_page(address_of(runs, tmp_path / "r.html"))
    page.get_by_text("missing turns, which count as no: same 2, short 2").wait_for()
    assert_count(page, ".board > .caution", 2)
    page.get_by_text("1 more warning").click()
    assert_count(page, ".caution:visible", 3)
    page.get_by_role("button", name="short 2 faults").click()
    page.get_by_role("link", name="missing turns, which count as no: 2").click()
    page.get_by_text("short has no turn 4.").wait_for()


@pytest.mark.parametrize("phone", [False, True])
def test_two_rows_show_their_difference_and_the_turns(
    open_page: OpenPage, judges: str, twenty: str, phone: bool
) -> None:
    page = open_page(judges, phone=phone)
    for name in ("kind", "almost"):
        page.get_by_role("checkbox", name=f"Compare {name}").check()
    assert page.evaluate(NUMBERS) == ".83 −.003 [−.003, .041] .00"
    assert page.evaluate(NO_NEAR_HALF) == "no  .497"
    go_to(page, "Files")
    go_to(page, "Ranking")
    pair = page.locator(".pair")
    assert re.search(
        r"(?s)kind − almost: \+?−?\.\d+ \[.*\] not significant, p\s\.\d+ \(Holm\) over \d+ comparisons\."
        r".*Quality \+?−?\.\d+ \[.*\]\s*Relation.*bold: significant",
        pair.inner_text(),
    )
    assert page.get_by_text("Equal runs: in the order given.").is_visible()
    assert pair.locator("summary").inner_text() == "They differ on 1 turn"
    pair.locator("summary").click()
    pair.locator("li a").click()
    page.wait_for_selector(".reason .verdict:has-text('Relation')")
    assert_count(page, ".verdict-table tbody tr:not(.label)", 2)
    assert_count(page, ".chips button", 2)  # the runs
    page = open_page(twenty, phone=phone)
    boxes = page.locator(".run input")
    for place in (20, 0):
        boxes.nth(place).check()
    page.wait_for_function(IS_IN_THE_WINDOW, arg=".pair")
    assert page.locator(".pair").bounding_box()["height"] < 250  # rows stay in view
    assert "] significant" in page.locator(".pair").inner_text()
    assert page.locator(".pair summary").inner_text() == "They differ most on 10 turns"
    assert page.evaluate(ITEMS_WITHOUT_NUMBERS) == 10
    assert_fits(page)
    assert_count(page, "td.rank:has-text('≈1')", 10)
    boxes.nth(0).uncheck()
    assert_count(page, ".pair", 0)


def test_a_grid_shows_each_claim_by_run_and_opens_its_debates(
    open_page: OpenPage, judges: str, twenty: str
) -> None:
    page = open_page(f"{twenty}#claims", phone=True)
    assert page.locator(".grid thead th").nth(3).inner_text() == "team2-submission-run-1"  # by rank
    row = page.locator(".grid tbody tr").first
    assert page.evaluate(ARE_WHOLE_OR_COVERED)
    row.locator("td").nth(9).scroll_into_view_if_needed()
    for cell in (row.locator("th"), row.locator("td").last):
        assert cell.evaluate(IS_IN_VIEW)
    row.locator("td").nth(9).click(position={"x": 2, "y": 2})
    page.wait_for_selector(".verdict-table")
    page = open_page(f"{judges}#claims")
    rows = page.locator(".grid tbody tr")
    assert rows.count() == 20
    assert rows.nth(0).locator("td").all_inner_texts() == ["1.00", ".92", ".00", "1.00"]
    rows.nth(0).locator("a").first.focus()
    page.keyboard.press("ArrowRight")
    assert_count(page, "td a:focus", 1)
    page.keyboard.press("Enter")
    page.wait_for_selector(".verdict-table")
    assert "with=1" in page.url
    assert_count(page, ".verdict-table tbody tr:not(.label)", 1)


def test_a_ranking_of_twenty_runs_is_on_the_first_screen(
    open_page: OpenPage, twenty: str, debaters: str
) -> None:
    page = open_page(twenty)
    assert_count(page, ".ranking tbody tr", 21)
    page.wait_for_function(IS_IN_THE_WINDOW, arg=".ranking")
    page = open_page(twenty, phone=True)
    assert page.locator(".ranking tbody tr").first.bounding_box()["y"] < 844 / 2
    assert page.locator(".ranking").bounding_box()["height"] < 24 * 31
    assert page.locator(".plot").first.bounding_box()["width"] > 300
    assert_count(page, ".ranking tbody .sure:visible", 8)
    assert page.evaluate(NAMES_ARE_WHOLE)
    name = "team0-submission-run-1"
    page.get_by_role("button", name=name).click()
    assert page.locator(".opened").get_by_text(name, exact=True).is_visible()
    for address in (debaters, twenty, f"{twenty}#files"):
        table = open_page(address, viewport=TABLET).locator(".scroll").first
        assert table.evaluate(HAS_ROOM)
    page = open_page(f"{twenty}#files", viewport={"width": 280, "height": 800})
    current = page.locator(".bar [aria-current]").element_handle()
    page.wait_for_function(IS_IN_VIEW, arg=current)


def test_a_table_is_sorted_by_keyboard_and_downloaded_as_csv(
    open_page: OpenPage, judges: str
) -> None:
    page = open_page(judges)
    page.get_by_text("All measures", exact=True).first.click()
    with page.expect_download() as download:
        page.get_by_role("link", name="All measures as CSV").click()
    heads, *rows = csv.reader(Path(download.value.path()).read_text("utf-8").splitlines())
    assert heads[:2] == ["rank", "run"]
    assert {row[1] for row in rows} == {"kind", "almost", "strict", "always-yes"}
    table = page.locator("details[open] table")
    table.locator("th button", has_text="accuracy").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    place = table.locator("th button").all_inner_texts().index("accuracy") + 1
    cells = table.locator(f"tbody tr > :nth-child({place})").all_inner_texts()
    assert cells == sorted(cells)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [LAPTOP, TABLET, PHONE], ids=["laptop", "tablet", "phone"])
def test_pages_are_accessible_and_fit(
    open_page: OpenPage, judges: str, debaters: str, twenty: str, size: Any, dark: bool
) -> None:
    addresses = [f"{judges}#{tab}" for tab in ("ranking", "d1", "claims", "agreement", "files")]
    for address in (*addresses, f"{twenty}#d1", f"{debaters}#d1&with=0.1"):
        page = open_page(address, viewport=size, dark=dark)
        page.wait_for_selector("main h1, main [role=heading], .reader .turn")
        assert_accessible(page)
        assert_fits(page)
        assert page.evaluate(TAB_STOPS) <= 120
        page.set_viewport_size({"width": 344, "height": 800})
        assert_fits(page)
        page.emulate_media(media="print")
        assert not page.locator("header.bar").is_visible()


def test_a_report_of_592_debates_opens_fast(open_page: OpenPage, tmp_path: Path) -> None:
    turns = [(f"Why {n}?", f"Answer {n}.", "t") for n in range(5)]
    debates = [make_debate(*turns, claim=f"Claim {at}.") for at in range(592)]
    run = write_evaluations(tmp_path / "run.jsonl", debates)
    address = address_of([run], tmp_path / "report")
    spent = []
    for _ in range(3):
        page = open_page("about:blank")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        page.goto(f"{address}#debates")
        wait_for_position(page, "1 of 592")
        metrics = session.send("Performance.getMetrics")["metrics"]
        spent.append(sum(metric["value"] for metric in metrics if metric["name"] in WORK))
    assert min(spent) < 0.7
    rows = page.locator(".list li")
    drawn = rows.count()
    assert drawn < 60
    page.locator(".list").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    rows.nth(drawn).wait_for()


@pytest.mark.parametrize("out", ["report.html", "report"])
def test_hostile_texts_stay_texts(open_page: OpenPage, tmp_path: Path, out: str) -> None:
    address = address_of(
        [write_evaluations(tmp_path / "nasty.jsonl", NASTY_DEBATES)],
        tmp_path / out,
        title=f"Honest {NASTY[1]}",
    )
    page = open_page(f"{address}#d1&text={quote('<script>')}")
    page.wait_for_selector(".reader .turn")
    assert page.title().startswith("Honest")
    assert_count(page, "img, iframe, object, [onerror], [onmouseover]", 0)
    assert "</script>" in page.locator(".reader").inner_text()
    assert_fits(page)


def test_rankings_are_browsed(open_page: OpenPage, tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    run.write_text("claim-1 Q0 101.1 1 2.0 t\nclaim-2 Q0 102.1 1 2.0 t\n", "utf-8")
    qrels = tmp_path / "qrels"
    qrels.write_text("claim-1 0 101.1 1\nclaim-2 0 102.2 1\n", "utf-8")
    address = address_of(
        [run],
        tmp_path / "r.html",
        labels=qrels,
        queries={"claim-1": "A long claim " * 9, "claim-2": "Second claim"},
        index="demo",
    )
    page = open_page(f"{address}#q2", phone=True)
    wait_for_position(page, "2 of 2")
    page.wait_for_selector(".reader li .text")
    assert "Second claim" in page.locator(TITLE).inner_text()
    assert page.locator(".reader li .text").inner_text()
    assert page.locator(".list a .soft").all_inner_texts() == ["a 1.00", "a .00"]
    assert (
        page.locator(".list a").first.inner_text().startswith(f"1. {'A long claim ' * 4}A long …")
    )
    assert_count(page, "select", 0)
    assert_accessible(page)
    assert_fits(page)


def test_verdicts_on_a_whole_debate_stand_above_its_turns(
    open_page: OpenPage, tmp_path: Path
) -> None:
    run = write_evaluations(tmp_path / "run.jsonl", [make_debate(*TURNS)])
    (record,) = read_records(run)
    del record["userTurnsEvaluations"][1:]
    write_records(run, record)
    criteria = grice().model_copy(update={"unit": "debate"})
    address = address_of([run], tmp_path / "r.html", criteria=criteria)
    page = open_page(f"{address}#d1-t2")
    assert_count(page.get_by_label("Verdicts on the whole debate"), ".cell", 4)
    assert page.locator(".turn").get_by_text("Why 1?").is_visible()
    assert_count(page, ".turn .cell", 0)


def test_whole_debates_are_browsed(open_page: OpenPage, tmp_path: Path) -> None:
    contest = read_records(CONTESTS)[0]
    runs = [
        write_records(
            tmp_path / f"{judge}.jsonl",
            {
                "id": contest["id"],
                "judge": judge,
                "outcome": {
                    "winner": winner,
                    "scores": {"Mara": {"general": 8}, "Teo": {"general": 5}},
                },
            },
        )
        for judge, winner in (("a", "Mara"), ("b", "Teo"))
    ]
    address = address_of(runs, tmp_path / "w.html", labels=CONTESTS)
    for phone in (False, True):
        page = open_page(f"{address}#wholes&only=panels disagree", phone=phone)
        wait_for_position(page, "1 of 1")
        page.wait_for_selector(".reader .turn >> nth=1")
        assert_count(page, ".reader .turn", 2)
        assert page.locator(".cards [data-head=b]").last.evaluate(IS_IN_VIEW)
        assert_accessible(page)
        assert_fits(page)
