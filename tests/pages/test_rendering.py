"""Pages are safe: no text becomes markup, and the policy allows only our script and style."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser import OpenPage, assert_accessible, assert_fits
from touche_rad.debate import Argument, Response
from touche_rad.pages import json_island, marked_answer, read_asset, render_page, visible

HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "</script><!--<svg/onload=document.title='owned'> \u202eevil\u2066 \x1b[31m\u2028 & 'q' \"d\""
)


def test_an_island_cannot_be_ended_by_its_data() -> None:
    island = str(json_island("data", {"text": HOSTILE}))
    assert island.count("</script") == 1
    assert "\u2028" not in island
    body = re.fullmatch(r"<script[^>]*>(.*)</script>", island)
    assert body is not None
    assert json.loads(body[1]) == {"text": HOSTILE}


def test_control_characters_are_visible() -> None:
    assert visible("a\u202eb\x1bc\nd\te") == "a‹U+202E›b‹U+001B›c\nd\te"


def test_words_of_an_argument_that_support_a_sentence_are_marked() -> None:
    argument = Argument(id="a", text="Zoos breed rare animals. They cost little.")
    answer = marked_answer(Response(content="Zoos breed rare animals.", arguments=(argument,)))
    assert answer["sentences"][0]["state"] == "supported"
    assert answer["citations"][0]["parts"] == [
        ("Zoos breed rare animals.", [1]),
        (" They cost little.", []),
    ]


def _page(**more: Any) -> str:
    argument = Argument(
        id="a</p>" + HOSTILE, text=f"Zoos breed rare animals. {HOSTILE}", topic=HOSTILE
    )
    response = Response(content=f"Zoos breed rare animals. {HOSTILE}", arguments=(argument,))
    verdicts = {"quality": {"score": 0.2, "yes": False, "rationale": HOSTILE}}
    return render_page(
        "pages/specimen.html.jinja",
        title="Specimen",
        answer=marked_answer(response),
        verdicts=verdicts,
        user=HOSTILE,
        data={"text": HOSTILE},
        **more,
    )


@pytest.mark.services
@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("dark", [False, True])
def test_hostile_text_stays_text_and_the_page_is_accessible(
    open_page: OpenPage, tmp_path: Path, phone: bool, dark: bool
) -> None:
    (tmp_path / "page.html").write_text(_page(scripts=[SPECIMEN]), "utf-8")
    page = open_page((tmp_path / "page.html").as_uri(), phone=phone, dark=dark)
    assert page.title() == "Specimen"
    assert page.locator("img, svg").count() == 0
    assert page.locator("#built").inner_text().startswith("<script>document.title=")
    assert "‹U+202E›" in page.locator("#t1 .user").inner_text()
    assert_fits(page)
    assert_accessible(page)


SPECIMEN = """
rad.replace(document.getElementById("built"), rad.island("data").text);
rad.keys({ "Shift+1": ["Answer no", () => { document.body.dataset.key = "no"; }] });
"""


@pytest.mark.services
def test_marks_follow_hover_and_focus_and_keys_show_their_help(
    open_page: OpenPage, tmp_path: Path
) -> None:
    (tmp_path / "page.html").write_text(_page(scripts=[SPECIMEN]), "utf-8")
    page = open_page(f"{(tmp_path / 'page.html').as_uri()}#t1")
    page.locator("mark").first.hover()
    assert page.locator(".sentence.lit").count() == 1
    page.mouse.move(0, 0)
    assert page.locator(".lit").count() == 0
    page.locator(".sentence.supported").first.focus()
    assert page.locator("mark.lit").inner_text() == "Zoos breed rare animals."
    page.keyboard.press("Shift+Digit1")
    assert page.locator("body").get_attribute("data-key") == "no"
    page.keyboard.press("?")
    assert page.locator("dialog").get_by_text("Answer no").is_visible()
    assert_accessible(page)
    page.keyboard.press("Escape")
    assert page.evaluate("document.getElementById('t1').getBoundingClientRect().top") >= 0


def test_a_script_that_would_end_its_element_is_refused() -> None:
    with pytest.raises(ValueError, match="a tag that ends it"):
        render_page("pages/base.html.jinja", scripts=["'</script>'"], title="x")


def test_the_shared_scripts_never_set_markup() -> None:
    for name in ("pages/common.js", "pages/components.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", read_asset(name)
        )
