"""The debate page: its endpoint, and the page in a real browser."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.browser import (
    LAPTOP,
    PHONE,
    TABLET,
    OpenPage,
    assert_accessible,
    assert_count,
    assert_fits,
)
from tests.cases import with_cases
from tests.models import scripted
from tests.records import read_json
from tests.serve.careless import free_port
from tests.terminal import touche_rad
from touche_rad.criteria import grice
from touche_rad.debate import Argument, Debate, Maxim, Response, Verdict
from touche_rad.demo import DEMO
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import LoadedDebater, LoadedJudge, Services, find, open_index
from touche_rad.runs.answering import Answerer, make_answerer
from touche_rad.serve import create_app
from touche_rad.serve.debate_page import Offer
from touche_rad.serve.observed import ObservedIndex

ZOOS = "Zoos should be closed because captivity harms animals."
MESSAGES = {"messages": [{"role": "user", "content": ZOOS}]}
HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> "
    "[a](javascript:document.title='owned') \u202eevil \x1b[31m </script>"
)

SAID = "Zoos \u202eteach\u202c nobody anything. <img src=x onerror=document.title='owned' x='"
"""Markup that is no order to a model: an answer with HOSTILE is refused, and the fallback answers."""


CHANGED = """async (what) => {
  const change = (bytes, stream) =>
    new Response(new Blob([bytes]).stream().pipeThrough(stream)).bytes();
  const options = { alphabet: "base64url", omitPadding: true };
  const bytes = Uint8Array.fromBase64(location.hash.slice("#debate=".length), options);
  const json = new TextDecoder().decode(await change(bytes, new DecompressionStream("deflate-raw")));
  const turn = JSON.parse(json).turns[0];
  const many = (length, parent) =>
    JSON.stringify({ turns: Array.from({ length }, (_, at) => ({ say: turn.say, parent: parent(at), answers: [] })) });
  const changed = {
    turns: () => many(2001, (at) => at - 1),
    branches: () => many(2000, () => -1),
    bomb: () => json + " ".repeat(3e7),
    seconds: () => json.replace(/"seconds":[0-9.]+/, '"seconds":"long"'),
  }[what]();
  const link = await change(new TextEncoder().encode(changed), new CompressionStream("deflate-raw"));
  return `#debate=${link.toBase64(options)}`;
}"""
"""The address of a debate that only breaks the page at "Why?", has turns to which the server would not
answer, has many branches, or takes much memory."""


HAS_DARK_PAPER = "getComputedStyle(document.documentElement).backgroundColor === 'rgb(18, 21, 24)'"
VALUES = "(fields) => fields.map(({ value }) => value)"
IS_WHOLE = """() => /^(verbatim answers the next message.$|The debate is saved )/.test(
    document.querySelector('#where').textContent) &&
  document.querySelector('.turn:last-child').getBoundingClientRect().bottom <=
    document.querySelector('#composer').getBoundingClientRect().top + 1"""
"""Whether the message box says who answers, and hides nothing of the last turn."""
OPENED = """(topics) => {
  const lefts = () => topics.map((topic) => topic.getBoundingClientRect().x);
  const before = lefts();
  topics[1].parentElement.open = true;
  const claims = topics[1].nextElementSibling.getBoundingClientRect();
  return String(before) === String(lefts()) && claims.x === before[0];
}"""
"""Whether all topics stay in their columns when one is opened, and its claims have the whole width."""


LAST_WHY_IS_SHOWN = """() =>
  [...document.querySelectorAll(".why")].at(-1).getBoundingClientRect().top <
    document.querySelector("#composer").getBoundingClientRect().top"""
ANSWER_IS_SHOWN = """() => {
  const answer = document.querySelector("#t0 .answer").getBoundingClientRect();
  return answer.top >= document.querySelector(".bar").offsetHeight && answer.bottom < innerHeight;
}"""


class Slow:
    """Never answers."""

    async def answer(self, debate: Debate) -> Response:
        await asyncio.sleep(600)
        raise AssertionError


class Bare:
    """Cites nothing."""

    def answer(self, debate: Debate) -> Response:
        return Response(content="Zoos teach children.")


class Hostile:
    """Answers and cites markup."""

    def answer(self, debate: Debate) -> Response:
        argument = Argument(id=f"1{HOSTILE}", text=HOSTILE, topic=HOSTILE, attacks=HOSTILE)
        path = {"path": [HOSTILE]}
        return Response(content=SAID, arguments=(argument.model_copy(update=path),))

    def judge(self, debate: Debate) -> Mapping[Maxim, Verdict]:
        return {maxim: Verdict(score=0.1, rationale=HOSTILE) for maxim in Maxim}


class Failing:
    """Fails with a message that contains markup."""

    def answer(self, debate: Debate) -> Response:
        raise RuntimeError(HOSTILE)


@pytest.fixture(scope="module")
def app() -> FastAPI:
    services = Services(index=ObservedIndex(open_index(DEMO)))

    def demo(name: str) -> Answerer:
        return make_answerer(find("debater", name).configure(), services)

    grounded = demo("grounded")
    judge = find("judge", "grounded").make(services)
    chain = [LoadedDebater(Failing(), "failing"), demo("verbatim").chain[0]]
    debaters = {
        "grounded": lambda: grounded,
        "verbatim": lambda: demo("verbatim"),
        "slow": lambda: Answerer([LoadedDebater(Slow(), "slow")]),
        "hostile": lambda: Answerer([LoadedDebater(Hostile(), "hostile")]),
        "bare": lambda: Answerer([LoadedDebater(Bare(), "bare")]),
        "failing": lambda: Answerer(chain, services.index),
    }
    judges = {"grounded": lambda: judge, "hostile": lambda: LoadedJudge(Hostile())}
    topics = {"Should zoos be closed?": [ZOOS], "Is cash old?": ["Cash should be abolished."]}
    topics |= {f"Topic {number}": [] for number in range(60)}
    return create_app(grounded, judge, offer=Offer(debaters, judges, topics=topics))


def _ask(app: FastAPI, say: str = ZOOS, **fields: Any) -> list[dict[str, Any]]:
    body = {
        "debater": "grounded",
        "judges": ["grounded"],
        "debate": {"simulation": {"userTurns": [{"utterance": say}]}},
        **fields,
    }
    reply = TestClient(app).post("/debate/answer", json=body)
    return [json.loads(line) for line in reply.text.splitlines()]


REFUSED = r'"near": \[\],.* "too few common words: similarity 0\.00, below 0\.05"'


def test_an_answer_comes_step_by_step(app: FastAPI) -> None:
    events = _ask(app)
    by_kind = {event["event"]: event for event in events}
    assert list(by_kind)[-5:] == ["answer", "candidates", "judging", "verdicts", "end"]
    answer = by_kind["answer"]
    assert answer["system"]["response"] == TestClient(app).post("/", json=MESSAGES).json()
    candidates = by_kind["candidates"]["candidates"]
    assert "cited" in [candidate["note"] for candidate in candidates]
    maxims = [verdict["name"] for verdict in by_kind["verdicts"]["list"]]
    assert maxims == ["Quantity", "Quality", "Relation", "Manner"]
    # Where there is no argument, near topics are named, and nothing is judged.
    events = _ask(app, "Buses are late.")
    assert {event["event"] for event in events}.isdisjoint(("judging", "verdicts"))
    (near,) = (event["near"] for event in events if event["event"] == "answer")
    assert "Should public transport be free of charge?" in near
    for far in ("Trains are too expensive.", "Pineapple belongs on pizza."):
        assert re.search(REFUSED, json.dumps(_ask(app, far)))
    assert '"query": ""' not in json.dumps(_ask(app, "Why?"))
    assert 'captivity harms \\u2026"' in json.dumps(_ask(app, f"{ZOOS} " * 9))
    # What was cited before is not cited again, although it is the best.
    turns = [{"utterance": ZOOS, "systemResponse": answer["system"]}]
    for _ in range(6):
        events = _ask(app, debate={"simulation": {"userTurns": [*turns, {"utterance": ZOOS}]}})
        (system,) = (event["system"] for event in events if event["event"] == "answer")
        turns.append({"utterance": ZOOS, "systemResponse": system})
    again = json.dumps(events)
    assert '"note": "cited earlier' in again
    # What is cited is shown, whatever its rank.
    assert re.search(r'"rank": 5, [^{]*}, {"rank": \d+, [^{]*"note": "cited"}]', again)


@with_cases(("fields", "detail"), "serve/wrong_requests.json")
def test_a_wrong_request_is_refused(app: FastAPI, fields: dict[str, Any], detail: str) -> None:
    assert detail in _ask(app, **fields)[0]["detail"]


def test_the_policy_is_strict_and_only_known_files_are_sent(app: FastAPI) -> None:
    client = TestClient(app)
    page = client.get("/")
    assert "default-src 'none'; script-src 'self'" in page.headers["content-security-policy"]
    assert "<script>" not in page.text
    assert client.get("/assets/serve/debate.js").status_code == 200
    assert client.get("/assets/serve/app.py").status_code == 404
    assert client.get("/assets/../pyproject.toml").status_code == 404


def test_the_hint_on_sharing_names_options_that_work(app: FastAPI) -> None:
    client = TestClient(app, base_url="http://localhost")
    hint = re.search(r"For others.*?<kbd>(.*?)</kbd>", client.get("/").text)
    assert hint is not None
    touche_rad("serve -i nowhere --port 0", *hint[1].split(), code=2, err="nowhere")


def test_a_wrong_key_is_logged_once_and_each_turn_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with scripted.serving() as endpoint, caplog.at_level(logging.WARNING, "touche_rad"):
        endpoint.always = scripted.fails(401)
        services = Services(open_index(DEMO), model=Model(Address(endpoint.url, "tiny")))
        answerer = make_answerer(find("debater", "composed").configure(), services)
        client = TestClient(create_app(answerer, LoadedJudge(Hostile()), model=services.model))
        for _ in range(2):
            assert client.post("/", json=MESSAGES).json()["content"]
    assert sum("401: no; " in record.getMessage() for record in caplog.records) == 1
    assert "set OPENAI_API_KEY" in client.get("/health").json()["model_problem"]
    touche_rad("serve -i nowhere", code=2)
    assert logging.getLogger("httpx2").level == logging.WARNING, "requests are not logged"


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve the page; afterwards the server has ended."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", port, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = server.force_exit = True
    thread.join()


@pytest.fixture(scope="module")
def url(app: FastAPI) -> Iterator[str]:
    with serving(app) as address:
        yield address


def _wait(page: Any, selector: str) -> None:
    page.locator(selector).wait_for()


def _wait_for_text(page: Any, text: str) -> None:
    page.get_by_text(text).wait_for()


def _press(page: Any, turn: int, button: str) -> None:
    page.locator(f"#t{turn}").get_by_role("button", name=button).click()


def _branch(page: Any, number: int) -> None:
    page.locator(f"[aria-label^='Branch {number} of']").first.click()


def _type(page: Any, text: str = ZOOS) -> None:
    """Type a message and send it."""
    page.locator("#say").focus()
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")


def _select_the_hostile_judge(page: Any) -> None:
    page.get_by_role("button", name="Judges").click()
    page.get_by_label("hostile").check()
    page.keyboard.press("Escape")


def _send(page: Any, text: str, turn: int) -> None:
    """Send a message, and wait until its answer is judged."""
    _type(page, text)
    page.locator(f"#t{turn} .foot").last.wait_for()
    _wait(page, "#send")


@pytest.mark.services
def test_a_debate_is_played_compared_branched_reopened_and_exported(
    open_page: OpenPage, url: str, tmp_path: Path
) -> None:
    page = open_page(url)
    page.keyboard.type(ZOOS)  # the text field has the focus
    _send(page, "", 0)
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    _send(page, "Animals suffer in small cages.", 1)
    page.locator("[name=second]").select_option("verbatim")
    _send(page, "Breeding does not save species.", 2)
    assert_count(page, "#t2 .reply", 2)
    assert_count(page, "#t2 tbody tr", 2)
    _wait_for_text(page, "A framed verdict differs between the answers.")
    assert_count(page, "#debate :text('words only, not the side')", 3)
    assert (
        page.eval_on_selector_all(".turn", "all => new Set(all.map(e => e.offsetWidth)).size") == 1
    )
    page.locator("#t2 .cell").nth(3).click()
    assert page.locator("#t2 .reason").inner_text().startswith("grounded, ")
    page.locator("#t2 .ref").first.focus()
    assert page.locator("#t2 .lit").count() > 1
    assert_accessible(page)
    # Another answer of an earlier turn begins a branch.
    page.locator("[name=second]").select_option("")
    _send(page, "Rare animals die out there.", 3)
    _press(page, 2, "Continue with this of verbatim")
    assert_count(page, "#t4 [aria-label$=verbatim]:has([aria-pressed=true])", 1)
    page.wait_for_function(IS_WHOLE)
    shared = open_page(page.url)
    _wait(shared, "[aria-label$=verbatim] .foot")
    assert shared.locator("select").evaluate_all(VALUES) == ["verbatim", "grounded"]
    _branch(page, 1)
    assert_count(page, "#t2 [aria-label$=grounded]:has([aria-pressed=true])", 1)
    _branch(page, 2)
    # A branch from turn 1.
    _press(page, 1, "Edit")
    _send(page, "Children learn nothing there.", 5)
    assert_count(page, ".turn", 2)
    assert str(page.locator("#heard").text_content()).startswith("verbatim: ")
    # The address reopens it, with the other branch.
    again = open_page(page.url)
    _wait(again, "#t5 .foot")
    _branch(again, 1)
    assert_count(again, "#t4 [aria-label$=verbatim]:has([aria-pressed=true])", 1)
    again.locator("#t4").focus()
    with again.expect_download() as download:
        again.keyboard.press("e")
    _wait_for_text(again, "saved as debate.jsonl.")
    again.wait_for_function(IS_WHOLE)
    path = tmp_path / "debate.jsonl"
    download.value.save_as(path)
    turns = read_json(path)["simulation"]["userTurns"]
    said = [ZOOS, "Animals suffer in small cages.", "Breeding does not save species."]
    assert [turn["utterance"] for turn in turns] == said
    assert all(turn["systemResponse"]["response"]["arguments"] for turn in turns)
    touche_rad("check", path)
    with again.expect_download() as download:
        again.locator("#txt").dispatch_event("click")
    assert ", without other branches" in Path(download.value.path()).read_text("utf-8")


@pytest.mark.services
def test_hostile_text_is_only_text(open_page: OpenPage, url: str) -> None:
    page = open_page(url, phone=True, dark=True)
    page.locator("#say").fill(HOSTILE.replace("\x1b", ""))
    page.locator("[name=first]").select_option("hostile")
    page.locator("[name=second]").select_option("failing")
    _select_the_hostile_judge(page)
    _send(page, "", 0)
    assert_count(page, "#t0 tbody tr", 4)
    for what in ("seconds", "turns", "bomb"):
        _wait_for_text(open_page(url + page.evaluate(CHANGED, what)), "cannot be read")
    branches = open_page(url + page.evaluate(CHANGED, "branches"))
    branches.get_by_role("button", name="Branch 2000 of 2000").wait_for()
    assert branches.locator(".turn [aria-label^=Branch]").count() < 20
    again = open_page(page.url, phone=True)
    again.locator("#t0 .foot").last.wait_for()
    for button in again.get_by_role("button", name="Why?").all():
        button.click()
    again.wait_for_function(LAST_WHY_IS_SHOWN)
    assert "source 1: <script>" in again.locator(".why").first.inner_text()
    _wait(again, ".reply:first-child summary")
    for opened in (page, again):
        assert opened.title() == "touche-rad debate"
        assert_count(opened, "main img, main script, #debate a", 0)
        bubble = opened.locator("#t0 .answer").first.inner_text()
        assert "‹U+202E›" in bubble
        assert "<img src=x" in bubble
        assert_fits(opened)
    assert_accessible(again)


@pytest.mark.services
def test_typed_text_survives_a_dead_server(open_page: OpenPage, app: FastAPI) -> None:
    with serving(app) as address:
        page = open_page(address)
    _type(page)
    _wait_for_text(page, "The server cannot be reached.")
    assert_count(page, "[role=alert]", 1)
    assert page.locator("#say").input_value() == ZOOS
    assert page.get_by_role("button", name="Try again").is_visible()


@pytest.mark.services
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [LAPTOP, TABLET, PHONE], ids=["laptop", "tablet", "phone"])
def test_turns_fit_the_window(open_page: OpenPage, url: str, size: Any, dark: bool) -> None:
    page = open_page(url, viewport=size, dark=dark)
    assert page.eval_on_selector_all(".topics summary", OPENED)
    assert_accessible(page)
    page.locator("#find").fill("TOPIC 59")  # only 60 of 62 are listed
    _wait_for_text(page, "Write what you believe about it.")
    controls = "#composer :is(textarea, select, button):visible"
    phone = size is PHONE
    heights = "all => all.map(element => element.offsetHeight)"
    assert_count(page, "#composer .note:visible", 1)
    assert page.locator(controls).evaluate_all(heights) == [44, 44] or not phone
    page.locator("#find").fill("zoos")
    page.locator(".topics button:visible").click()
    _wait_for_text(page, "Change it, or press Send.")
    assert_count(page, controls, 5)
    _send(page, "", 0)
    _send(page, "But breeding programs rarely release any animal.", 1)
    assert page.eval_on_selector("#composer", "form => form.offsetHeight < 80") == phone
    turns = page.eval_on_selector_all(".turn", heights)
    frame = page.eval_on_selector_all(".bar, #composer", heights)
    assert sum(turns[size is not LAPTOP :]) <= size["height"] - sum(frame)
    assert max(page.eval_on_selector_all(".reply", heights)) <= 330
    _press(page, 0, "Why?")
    why = page.locator(".why").inner_text()
    assert re.match(
        r"(?s)Judge .*searched attacked claims for .*”\n.*5 of \d+ candidates, best first\. "
        r"The answer cites number \d\. The others score less or have a reason.* score \d",
        why,
    )
    reminders = [criterion.reminder for criterion in grice()]
    assert all(reminder in why for reminder in reminders)
    page.wait_for_function(ANSWER_IS_SHOWN)
    place = page.evaluate("scrollY")
    page.locator("#share").click()
    assert page.evaluate("scrollY") == place
    assert_accessible(page)
    assert_fits(page)
    assert not page.locator("#address").is_visible()
    page.locator("#link").click()
    page.locator("#copied").get_by_text("Copied.").wait_for()
    link = page.locator("#address").input_value()
    assert link.startswith(f"{url}#debate=")
    shared = open_page(link, viewport=size, dark=dark)
    assert_count(shared, ".turn", len(turns))
    for kind in ("html", "txt"):
        with page.expect_download() as download:
            page.locator(f"#{kind}").click()
        text = Path(download.value.path()).read_text("utf-8")
        exported = page.context.new_page()
        exported.set_content(text)
        assert exported.evaluate(HAS_DARK_PAPER) == (dark and kind == "html")
        assert "Debate: Zoos should be closed because captivity harms …" in text
        assert all(reminder in text for reminder in reminders) == (kind == "html")
        assert len(text.split(" argues against “")) == 3
        assert len(text) < 4000
        assert str(datetime.now().year) in text
        assert "Relation yes; Manner yes" in text


@pytest.mark.services
def test_a_debate_and_a_draft_outlive_a_reload(open_page: OpenPage, url: str) -> None:
    page = open_page(url, phone=True)
    for turn in (0, 1):
        _send(page, ZOOS * 300, turn)
    assert_accessible(page)
    _press(page, 0, "Again")
    _wait(page, "#t2 .foot")
    name = "Zoos should be closed because captivity harms …"
    assert_count(page, f"#t2 [aria-pressed=true][aria-label$='of 2: {name}']", 1)
    _wait(page, "#send")
    page.locator("#say").press_sequentially("A draft")
    page.keyboard.insert_text(ZOOS * 400)
    _wait_for_text(page, "A message has at most 20,000 characters.")
    page.locator("[name=first]").select_option("verbatim")
    _select_the_hostile_judge(page)
    page.reload()
    _wait(page, "#t2")
    assert page.locator("[name=first]").input_value() == "verbatim"
    assert page.locator("#say").input_value().startswith("A draft")
    assert page.get_by_label("hostile").is_checked()
    # One of two answers is ready.
    page.locator("[name=second]").select_option("slow")
    page.locator("#say").fill(ZOOS)
    _type(page, "")
    _wait(page, "#t3 .answer")
    page.reload()
    _wait_for_text(page, "Stopped.")
    assert page.locator("#say").input_value() == ZOOS


@pytest.mark.services
def test_an_edit_changes_nothing_until_it_is_answered(open_page: OpenPage, url: str) -> None:
    page = open_page(url)
    for turn in (0, 1):
        _send(page, ZOOS, turn)
    say = page.locator("#say")
    first = page.locator("[name=first]")
    say.fill("A draft")
    for leave in (page.locator("#cancel").click, lambda: page.keyboard.press("Escape")):
        _press(page, 0, "Edit")
        assert say.input_value() == ZOOS
        assert_count(page, ".turn.off", 2)
        assert_accessible(page)
        leave()
        assert say.input_value() == "A draft"
        assert_count(page, ".turn:not(.off)", 2)
        assert not page.locator("#cancel").is_visible()
    _press(page, 0, "Edit")
    page.get_by_role("link", name="New").click()
    _wait(page, "#start")
    assert say.input_value() == "A draft"
    page.go_back()
    _press(page, 0, "Edit")
    first.select_option("slow")
    for leave in (page.reload, page.locator("#stop").click):
        page.locator("#send").click()
        _wait(page, "#t2 .running")
        leave()
        _wait(page, "#problem :text('Stopped.')")
    _wait(page, "#send")
    assert say.input_value() == ZOOS
    assert_count(page, ".turn.off", 2)
    first.select_option("grounded")
    _send(page, "", 2)
    assert say.input_value() == "A draft"
    assert_count(page, ".turn", 1)
    _wait_for_text(page, "the same answer as in branch 1")
    _branch(page, 1)
    assert_count(page, ".turn", 2)


@pytest.mark.services
def test_a_stopped_message_and_the_next_one_are_both_kept(open_page: OpenPage, url: str) -> None:
    page = open_page(url)
    say = page.locator("#say")
    first = page.locator("[name=first]")
    first.select_option("slow")
    _type(page)
    say.press_sequentially("My next thought.")
    say.press("Enter")
    _wait_for_text(page, "Wait for the answer, or stop it.")
    page.locator("#stop").click()
    _wait_for_text(page, f"Stopped. Not answered: {ZOOS}")
    first.select_option("grounded")
    page.get_by_role("button", name="Try again").click()
    _wait(page, "#t0 .foot")
    assert ZOOS in page.locator("#t0").inner_text()
    assert say.input_value() == "My next thought."
    first.select_option("bare")
    _press(page, 0, "Again")
    page.locator("#t1 p:text('This answer cites no argument.')").wait_for()
    first.select_option("slow")
    _press(page, 1, "Again")
    page.locator("#stop").click()
    _wait(page, "#send")
    assert not page.locator("#cancel").is_visible()
    assert say.input_value() == "My next thought."


@pytest.mark.services
def test_back_shows_the_last_debate(open_page: OpenPage, url: str) -> None:
    page = open_page(url)
    _send(page, ZOOS, 0)
    page.locator("#new").click()
    _wait(page, "#start")
    page.reload()
    page.go_back()
    _wait(page, "#t0 .foot")
    page.go_forward()
    _wait(page, "#start")
    _send(page, "Another debate.", 0)
    page.locator("[name=first]").select_option("slow")
    _type(page, "Not answered yet.")
    _wait(page, "#t1 .running")
    page.go_back()
    page.locator(".bubble.user", has_text=ZOOS).wait_for()
    _wait(page, "#send")
    assert_count(page, ".turn", 1)
    assert page.locator("#say").input_value() == "Not answered yet."
    page.go_forward()
    page.locator(".bubble.user", has_text="Another debate.").wait_for()
    assert_count(page, ".turn", 1)


@contextmanager
def _with_a_model(answer: scripted.Answer) -> Iterator[str]:
    """Serve `composed` with a scripted model that answers so, and four seconds a turn."""
    with scripted.serving() as endpoint:
        endpoint.always = answer
        services = Services(
            index=open_index(DEMO), model=Model(Address(endpoint.url, "tiny"), deadline=60)
        )
        quick = make_answerer(find("debater", "composed").configure(), services, deadline=4)
        demo = make_answerer(find("debater", "verbatim").configure(), services)
        judge = find("judge", "length").make(services)
        offer = Offer({"composed": lambda: quick}, {"length": lambda: judge})
        with serving(create_app(demo, judge, offer=offer)) as address:
            yield address


@pytest.mark.services
def test_tokens_of_a_model_are_shown(open_page: OpenPage) -> None:
    written = scripted.content('{"numbers": [1], "response": "x"}')
    with _with_a_model(written) as address:
        page = open_page(address)
        _send(page, ZOOS, 0)
        _press(page, 0, "Why?")
        page.get_by_text("model: writing").first.wait_for()
        spent = page.locator("#t0 h3").last.inner_text()
        assert re.search(r" s, \d+ tokens", spent)
        again = open_page(page.url)
        _press(again, 0, "Why?")
        assert again.locator("#t0 h3").last.inner_text() == spent


@pytest.mark.services
@pytest.mark.parametrize("answer", [scripted.silent, scripted.fails(401)], ids=["slow", "key"])
def test_a_page_says_who_answered_instead(open_page: OpenPage, answer: scripted.Answer) -> None:
    with _with_a_model(answer) as address:
        page = open_page(address)
        _type(page)
        _wait(page, "#t0 .foot")
        notice = page.locator("#t0 .reply .notice").first.inner_text()
        assert notice.startswith("Warning: this answer is from composed without its model: ")
        assert answer is scripted.silent or "set OPENAI_API_KEY" in notice
        _wait(page, "#send")
        _press(page, 0, "Why?")
        assert "the model did not answer" in page.locator("#t0 .why").inner_text()
