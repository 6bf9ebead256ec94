"""The labelling page in a browser: by keyboard, killed, settled, with hostile text."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.browser import OpenPage, assert_accessible, assert_count, assert_fits
from tests.labelling.makers import MAXIMS, TURNS, write_run, write_verdicts
from tests.labelling.served import labelling
from tests.pages.test_rendering import HOSTILE
from tests.records import read_records, write_records
from touche_rad.criteria import shipped_names
from touche_rad.files.criteria import read_criteria

pytestmark = pytest.mark.services


@pytest.fixture
def run() -> Path:
    return write_run(debates=10)


@pytest.fixture
def judge(run: Path) -> Path:
    return write_verdicts("strict.jsonl", run, [number / 60 for number in range(30)])


def wait_for_turn(page: Any, number: int | None = None, turns: int = 30) -> Any:
    page.wait_for_selector(".question")
    page.wait_for_selector("#saved:text-is('saved')", state="attached")
    if number is not None:
        page.locator(f"#position:text-is('{number} of {turns}')").wait_for()
    return page


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def pressed_buttons(page: Any) -> list[str]:
    return list(
        page.eval_on_selector_all(
            ".question",
            "all => all.map(question => (question.querySelector('[aria-pressed=true]') || {}).textContent || '')",
        )
    )


def test_a_kill_loses_no_answer(open_page: OpenPage, run: Path, judge: Path) -> None:
    words = (run, judge, "-o", "labels.jsonl", "--annotator", "ana")
    with labelling(*words) as (process, address):
        page = wait_for_turn(open_page(address, errors=False), 1)
        for number in range(1, 11):
            assert not page.locator(".cited table").is_visible()
            press(page, "1", "Shift+2", "d", "4")
            page.locator(".cited table").wait_for()
            assert_count(page, "tr:has(th:text-is('strict')) .differs", 2)  # says no to all
            press(page, "1", "Enter")  # 1 changes no turn with all answers
            wait_for_turn(page, number + 1)
        press(page, "1", "Shift+3")
        wait_for_turn(page)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        press(page, "2")  # nobody takes this answer, and the page says so
        page.get_by_role("alert").get_by_text("not saved").wait_for()
    assert len(Path("labels.jsonl.log").read_text().splitlines()) == 1 + 42
    with labelling(*words) as (_, address):
        page = wait_for_turn(open_page(address), 11)  # the first open turn
        assert pressed_buttons(page) == ["Yes", "", "No", ""]


LOOK_OF_DIALOG = """[
  getComputedStyle(document.activeElement).outlineStyle,
  getComputedStyle(document.querySelector("dialog form")).marginTop +
    (document.querySelector("dialog").getBoundingClientRect().left <
      document.querySelector("#talk").getBoundingClientRect().right ? " over the response" : "") +
    (document.querySelector("dialog").scrollHeight > document.querySelector("dialog").clientHeight
      ? " scrolls" : "") +
    document.querySelector("dialog").textContent.match(/Arrow[A-Z]|$/)[0],
]"""


def test_undo_rubric_and_arrows(open_page: OpenPage, run: Path) -> None:
    with labelling(run, "-o", Path("labels.jsonl")) as (_, address):
        page = wait_for_turn(open_page(address), 1)
        press(page, "1", "Shift+1", "u")
        wait_for_turn(page)
        assert pressed_buttons(page) == ["Yes", "", "", ""]
        # An answer that is typed before the server has answered to Undo belongs to the turn of Undo.
        press(page, "Enter")
        wait_for_turn(page, 2)
        held: list[Any] = []
        page.route("**/undo", lambda route: held.append(route), times=1)
        press(page, "u", "Shift+2")
        page.wait_for_timeout(300)
        held.pop().continue_()
        page.locator("#position:text-is('1 of 30')").wait_for()
        wait_for_turn(page)
        assert pressed_buttons(page) == ["", "No", "", ""]
        press(page, "u", "1")
        for number in range(2, 8):
            press(page, "ArrowRight")
            wait_for_turn(page, number)
        press(page, "ArrowDown", "ArrowDown", "d")
        wait_for_turn(page)
        assert pressed_buttons(page) == ["", "", "Don't know", ""]
        press(page, "u")
        wait_for_turn(page, 7)
        press(page, "?")
        assert page.get_by_role("dialog").get_by_text("Rubric and keys").is_visible()
        assert_count(page, "dialog dl ~ .keys dt", 16)
        assert page.evaluate(LOOK_OF_DIALOG) == ["none", "16px"]
        assert_accessible(page)
        press(page, "?")
        assert_count(page, "dialog[open]", 0)
        # No button keeps the focus of the mouse: after Undo and Yes, Enter opens the next turn.
        yes = page.locator(".question:last-child .is-yes")
        place = yes.bounding_box()
        press(page, *"123")
        page.locator("#undo").click()
        wait_for_turn(page)
        press(page, "3")
        yes.click()
        assert yes.bounding_box() == place
        press(page, "Enter")
        wait_for_turn(page, 8)
        page.locator("#undo").focus()
        press(page, "1", "Enter")
        wait_for_turn(page, 9)
        page.locator("#rate:text-is('1 finished')").wait_for()


VERDICTS_DO_NOT_RAISE_THE_PANEL = """() =>
  document.querySelector(".label + tr")?.textContent.startsWith("strict") &&
  document.querySelector(".ask").getBoundingClientRect().height < 320"""

OPENS_AT_ITS_TOP = """() => scrollY === 0 &&
  document.querySelector(".earlier summary")?.textContent === "1 earlier turn" """


def test_mouse_touch_and_the_widths(open_page: OpenPage, run: Path, judge: Path) -> None:
    with labelling(run, judge, "-o", Path("labels.jsonl")) as (_, address):
        page = wait_for_turn(open_page(address, phone=True, dark=True, has_touch=True), 1)
        assert_count(page, ".asks:visible, .hint:visible, #saved:visible", 1)
        assert_fits(page)
        for maxim in MAXIMS:
            page.get_by_role("group", name=maxim).get_by_role("button", name="No", exact=True).tap()
        page.wait_for_function(VERDICTS_DO_NOT_RAISE_THE_PANEL)
        assert_fits(page)
        assert_accessible(page)
        page.get_by_role("button", name="Next →").tap()
        page.wait_for_function(OPENS_AT_ITS_TOP)
        wide = wait_for_turn(open_page(address), 2)
        assert_count(wide, ".bar :text('Label'), .hint:has-text('rubric, all keys'):visible", 2)
        assert_fits(wide)
        wide.get_by_role("group", name="Manner").get_by_role("button", name="Don't know").click()
        wait_for_turn(wide)
        assert pressed_buttons(wide) == ["", "", "", "Don't know"]
        wide.locator(".sentence[data-marks]").first.hover()
        assert wide.locator("mark.lit").count() > 0
        assert_accessible(wide)


@pytest.mark.parametrize("name", shipped_names())
def test_two_people_label_by_keys_and_a_third_one_settles(open_page: OpenPage, name: str) -> None:
    run = write_run(debates=1)
    output = "labels.jsonl"
    criteria = read_criteria(name)
    kinds = {criterion.key: criterion.answers for criterion in criteria}
    turns = 1 if criteria.unit == "debate" else TURNS
    *_, (last, answers) = kinds.items()
    # With two answers each, a digit is a question; otherwise it is an answer to the framed one.
    keys = ["1"] * len(kinds)
    other = "2"
    if {kind.kind for kind in kinds.values()} == {"yes-no"}:
        keys = ["1", "2", "3", "4"]
        other = "Shift+4"
    words = (run, "--criteria", name, "-o", output, "--annotator")
    for person, final in (("ana", keys[-1]), ("ben", other)):
        with labelling(*words, person) as (process, address):
            page = open_page(address)
            for turn in range(1, turns + 1):
                wait_for_turn(page, turn, turns)
                assert page.locator(".hint").bounding_box()["y"] < 200
                # How many answers differ would tell what the others answered.
                assert page.locator("#to-settle").text_content() == "Settle"
                press(page, *keys[:-1], final, "Enter")
            wait_for_turn(page)
            if person == "ben":
                page.route("**/*settle=true*", lambda route: route.abort())
                page.get_by_text(f"Settle ({turns})").click()
                page.get_by_role("alert").wait_for()
                page.unroute_all()
                page.locator("#to-label").click()
                page.locator("#to-settle").click()
                page.get_by_text("disagreements settled").wait_for()
                assert not page.get_by_text("All turns are labelled").is_visible()
                press(page, "u", final)  # Undo shows the answer where it was given
                page.locator("#to-label[aria-current=page]").wait_for()
                wait_for_turn(page)
            os.killpg(process.pid, signal.SIGINT)
            out = " ".join(process.communicate(timeout=30)[0].split())
    for key in kinds:
        same = "0.0 %" if key == last else "100.0 %"
        assert f"ana and ben {key} {turns} {same}" in out
    with labelling(*words, "cem", "--settle") as (process, address):
        page = open_page(address)
        for settled in range(turns):
            page.get_by_text(f"{settled} of {turns} disagreements settled").wait_for()
            wait_for_turn(page)
            shown = page.locator(".question").last.text_content()
            assert "ana: " in shown
            assert "ben: " in shown
            assert page.locator(".question button").first.is_disabled()
            page.keyboard.press(other)
            press(page, "Enter")
        page.get_by_text(f"{turns} of {turns} disagreements settled").wait_for()
        assert_accessible(page)
        wait_for_turn(page)
        for _ in range(2):  # the second one ends the server before its tasks
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.12)
        assert "Traceback" not in process.communicate(timeout=30)[1]
    (rows,) = read_records(output)
    chosen = 0 if answers.kind == "yes-no" else answers.values[1].value
    assert [row[last] for row in rows] == [chosen] * turns


def test_hostile_text_stays_text(open_page: OpenPage) -> None:
    turn = {
        "utterance": HOSTILE,
        "systemResponse": {
            "utterance": HOSTILE,
            "response": {"content": HOSTILE, "arguments": [{"id": HOSTILE, "text": HOSTILE}]},
        },
    }
    run = "run.jsonl"
    write_records(run, {"id": HOSTILE, "simulation": {"userTurns": [turn, turn]}})
    judge = write_verdicts("a.jsonl", run, [0.3, 0.6])
    judge.write_text(judge.read_text().replace('"because"', json.dumps(HOSTILE)))
    words = (run, judge, "-o", Path("<b>labels.jsonl"), "--annotator", "<i>a")
    with labelling(*words) as (_, address):
        page = wait_for_turn(open_page(address))
        press(page, *"1234")
        page.locator("th:text-is('a')").wait_for()
        assert page.title() == "Labelling"
        assert_count(page, "img, main script, main b:has-text('labels')", 0)
        assert "‹U+202E›" in page.locator("#current").text_content()
        assert_fits(page)
