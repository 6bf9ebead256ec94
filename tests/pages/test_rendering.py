"""Pages are safe: no text becomes markup, and the policy allows only our script and style."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import pytest

from tests.judges.makers import judge
from tests.screens import check_record
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn
from touche_rad.pages import (
    json_island,
    marked_answer,
    read_asset,
    render_page,
    render_served,
    visible,
)
from touche_rad.pages.rendering import SCRIPTS

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


def test_an_answer_says_what_each_citation_supports_in_which_words() -> None:
    zoos = Argument(
        id="a",
        text="Zoos breed rare animals. Visitors learn about nature there.",
        topic="Zoos",
        attacks="Close zoos.",
    )
    tickets = Argument(id="b", text="Tickets pay for rangers.")
    content = (
        "Zoos breed rare animals. Hello! Visitors learn about nature there. "
        "Visitors learn about nature on Mars, where huge craters hold cheese. "
        "Tickets pay for rangers."
    )
    user = ["Close zoos."]
    answer = marked_answer(Response(content=content, arguments=(zoos, tickets)), user)
    check_record("answer", answer)


def test_a_page_and_the_judge_count_the_same_words_of_a_sentence() -> None:
    zoos = Argument(id="a", text="Good zoos breed rare animals and give the young back to forests.")
    content = (
        "You say that cages harm every animal, but good zoos breed rare animals and return their "
        "young to the wild forests."
    )
    response = Response(content=content, arguments=(zoos,))
    debate = Debate(turns=(Turn(utterance="Cages harm every animal.", response=response),))
    (sentence,) = marked_answer(response, debate.user_texts)["sentences"]
    rationale = judge().judge(debate)[Maxim.QUALITY].rationale
    assert "% of its content words" in sentence["why"]
    assert sentence["why"] in rationale


def test_a_page_allows_its_own_scripts_and_what_it_names() -> None:
    policy = {"connect-src": "'self'", "img-src": "blob:"}
    page = render_page("pages/base.html.jinja", scripts=["'mine'"], title="x", policy=policy)
    digest = base64.b64encode(hashlib.sha256(b"'mine'").digest()).decode()
    directives = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)', page)[0])
    assert f"'sha256-{digest}'" in directives.partition("script-src ")[2].partition(";")[0]
    assert "default-src 'none'" in directives.split("; ")
    assert "img-src data: blob:" in directives.split("; ")
    assert "connect-src 'self'" in directives.split("; ")
    assert "unsafe" not in directives
    assert "<script>'mine'</script>" in page


def test_a_served_page_names_its_files_and_has_none_in_it() -> None:
    page = render_served(
        "pages/base.html.jinja", scripts=["a/b.js"], styles=["a/b.css"], root="/r/", title="<x> \0"
    )
    scripts = re.findall(r'<script src="(.*?)">', page)
    assert scripts == [*(f"/r/{name}" for name in SCRIPTS), "/r/a/b.js"]
    assert re.findall(r'stylesheet" href="(.*?)">', page) == ["/r/pages/style.css", "/r/a/b.css"]
    assert "Content-Security-Policy" not in page
    assert "<title>&lt;x&gt; \ufffd</title>" in page
    assert page.endswith("</html>\n")


def test_a_script_that_would_end_its_element_is_refused() -> None:
    with pytest.raises(ValueError, match="tag"):
        render_page("pages/base.html.jinja", scripts=["'</script>'"], title="x")


def test_the_shared_scripts_never_set_markup() -> None:
    for name in SCRIPTS:
        if "/vendor/" not in name:
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", read_asset(name)
            )
