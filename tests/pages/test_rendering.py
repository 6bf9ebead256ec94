"""Pages are safe: no text becomes markup, and the policy allows only our script and style."""

from __future__ import annotations

import json
import re

import pytest

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


def test_a_script_that_would_end_its_element_is_refused() -> None:
    with pytest.raises(ValueError, match="a tag that ends it"):
        render_page("pages/base.html.jinja", scripts=["'</script>'"], title="x")


def test_the_shared_scripts_never_set_markup() -> None:
    for name in ("pages/common.js", "pages/components.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", read_asset(name)
        )
