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
    page.locator("#saved:text-is('saved')").wait_for()
    if number is not None:
        page.locator(f"#position:text-is('{number} of {turns}')").wait_for()
    return page


def pressed_buttons(page: Any) -> list[str]:
    return list(
        page.eval_on_selector_all(
            ".question",
            "all => all.map(question => (question.querySelector('[aria-pressed=true]') || {}).textContent || '')",
        )
    )


def test_a_kill_loses_no_answer(open_page: OpenPage, run: Path, judge: Path) -> None:
    output = "labels.jsonl"
    words = (run, judge, "-o", output, "--annotator", "ana")
    with labelling(*words) as (process, address):
        page = wait_for_turn(open_page(address, errors=False), 1)
        for number in range(1, 11):
            assert not page.get_by_text("Judge strict").is_visible()
            for key in ("1", "Shift+2", "d", "4"):
                page.keyboard.press(key)
            page.get_by_text("Judge strict").wait_for()
            page.keyboard.press("1")  # it changes no turn with all answers
            page.keyboard.press("Enter")
            wait_for_turn(page, number + 1)
        page.keyboard.press("1")
        page.keyboard.press("Shift+3")
        wait_for_turn(page)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        page.keyboard.press("2")  # nobody takes this answer, and the page says so
        page.get_by_role("alert").get_by_text("not saved").wait_for()
    assert len(Path("labels.jsonl.log").read_text().splitlines()) == 1 + 42
    with labelling(*words) as (_, address):
        page = wait_for_turn(open_page(address), 11)  # the first open turn
        assert pressed_buttons(page) == ["Yes", "", "No", ""]


def test_undo_rubric_and_arrows(open_page: OpenPage, run: Path) -> None:
    with labelling(run, "-o", Path("labels.jsonl")) as (_, address):
        page = wait_for_turn(open_page(address), 1)
        for key in ("1", "Shift+1", "u"):
            page.keyboard.press(key)
        wait_for_turn(page)
        assert pressed_buttons(page) == ["Yes", "", "", ""]
        page.keyboard.press("ArrowRight")
        wait_for_turn(page, 2)
        for number in range(3, 8):
            page.keyboard.press("ArrowRight")
            wait_for_turn(page, number)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("d")
        wait_for_turn(page)
        assert pressed_buttons(page) == ["", "", "?", ""]
        page.keyboard.press("u")
        wait_for_turn(page, 7)
        page.keyboard.press("?")
        assert page.get_by_role("dialog").get_by_text("Rubric and keys").is_visible()
        assert_accessible(page)
        page.keyboard.press("?")
        assert page.get_by_role("dialog").count() == 0


def test_mouse_touch_and_the_widths(open_page: OpenPage, run: Path, judge: Path) -> None:
    with labelling(run, judge, "-o", Path("labels.jsonl")) as (_, address):
        page = wait_for_turn(open_page(address, phone=True, dark=True, has_touch=True), 1)
        assert_count(page, ".asks:visible", 1)
        assert_fits(page)
        for maxim in MAXIMS:
            page.get_by_role("group", name=maxim).get_by_role("button", name="No", exact=True).tap()
        page.get_by_text("Judge strict").wait_for()
        assert_fits(page)
        assert_accessible(page)
        page.get_by_role("button", name="Next →").tap()
        wide = wait_for_turn(open_page(address), 2)
        assert wide.locator(".bar").get_by_text("Label").count() == 1
        assert_fits(wide)
        wide.get_by_role("group", name="Manner").get_by_role("button", name="Don't know").click()
        wait_for_turn(wide)
        assert pressed_buttons(wide) == ["", "", "", "?"]
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
                # How many answers differ would tell what the others answered.
                assert page.locator("#to-settle").text_content() == "Settle"
                for key in (*keys[:-1], final, "Enter"):
                    page.keyboard.press(key)
            wait_for_turn(page)
            left = f"Settle ({turns})" if person == "ben" else "Settle"
            assert page.locator("#to-settle").text_content() == left
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
            page.keyboard.press("Enter")
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
        for key in "1234":
            page.keyboard.press(key)
        page.get_by_text("Judge a").wait_for()
        assert page.title() == "Labelling"
        assert_count(page, "img, main script, main b:has-text('labels')", 0)
        assert "‹U+202E›" in page.locator("#current").text_content()
        assert_fits(page)
