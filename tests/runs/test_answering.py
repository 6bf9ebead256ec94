from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Awaitable
from types import SimpleNamespace

import anyio
import pytest

from tests.cases import with_cases
from tests.refusals import expect_error
from tests.runs import fakes
from tests.runs.fakes import ARGUMENTS, Saying, SmallIndex, debate_of
from touche_rad import calls, plugins
from touche_rad.debate import NOTHING_FOUND, Debate, Response
from touche_rad.errors import WorkError
from touche_rad.events import EventKind
from touche_rad.plugins import LoadedDebater, Options, Services, find
from touche_rad.plugins import registry as plugin_registry
from touche_rad.runs.answering import LAST_RESORT, Answer, Answerer, make_answerer
from touche_rad.text import count_words

GOOD = ("good", Saying("Zoo breeding saves endangered species.", "1.1"))
DEBATE = debate_of("I think zoos should be closed.")


def answer_with(*chain: tuple[str, object], debate: Debate = DEBATE, **settings: object) -> Answer:
    debaters = [LoadedDebater(debater, name) for name, debater in chain]  # type: ignore[arg-type]
    answerer = Answerer(debaters, SmallIndex(), **settings)  # type: ignore[arg-type]
    return anyio.run(answerer.answer, debate)


@pytest.mark.parametrize("kind", [Saying, fakes.SayingAsync])
def test_the_selected_debater_answers(kind: type[Saying]) -> None:
    debater = kind("Zoo breeding saves endangered species.", "1.1")
    reply = answer_with(("me", debater), GOOD)
    response = Response(content=GOOD[1].content, arguments=(ARGUMENTS[0],))
    assert reply == Answer(response, "me", reply.debater)
    assert reply.debater is not None
    assert reply.debater.instance is debater


@pytest.mark.parametrize(
    "bad",
    [
        Saying(""),
        Saying(" \n"),
        Saying(None),
        fakes.Returning("text"),
        fakes.Raising(StopIteration()),
        fakes.Raising(MemoryError()),
        fakes.Exiting(),
        fakes.RaisingAsync(TimeoutError()),
        fakes.RaisingAsync(SystemExit(1)),
        fakes.RaisingAsync(asyncio.CancelledError()),
        fakes.Raising(KeyboardInterrupt()),
        object(),
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_a_failing_debater_has_a_fallback_and_is_named(
    bad: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "touche_rad"):
        reply = answer_with(("bad", bad), GOOD)
    assert reply.by == "good"
    assert reply.response.arguments == (ARGUMENTS[0],)
    assert [(event.kind, event.plugin) for event in reply.events] == [(EventKind.FALLBACK, "bad")]
    assert "debater bad " in caplog.text


def test_a_fixed_sentence_answers_if_all_debaters_fail() -> None:
    reply = answer_with(("one", Saying("")), ("two", fakes.Raising(OSError("gone"))))
    assert reply.response.content == NOTHING_FOUND
    assert reply.response.extra == {
        "fallback": "debater one gave no valid result: the answer is empty"
    }
    assert reply.by == LAST_RESORT
    assert [(event.kind, event.plugin) for event in reply.events] == [
        (EventKind.FALLBACK, "one"),
        (EventKind.FALLBACK, "two"),
        (EventKind.LAST_RESORT, ""),
    ]
    assert reply.events[1].detail == "OSError: gone"


def test_the_fixed_sentence_has_the_word_limit() -> None:
    assert count_words(NOTHING_FOUND) <= 60
    assert count_words(answer_with(("me", Saying("word " * 90))).response.content) == 60
    assert count_words(answer_with(max_words=5).response.content) <= 5


def test_the_fixed_sentence_answers_a_debate_without_turns() -> None:
    assert answer_with(("r", fakes.Slow(0)), debate=Debate(claim="x")).by == LAST_RESORT


def test_a_failing_index_is_a_failing_answer() -> None:
    class Broken(SmallIndex):
        def get(self, argument_id: str) -> None:
            raise OSError("disk")

    answerer = Answerer([LoadedDebater(GOOD[1], GOOD[0])], Broken())
    assert anyio.run(answerer.answer, DEBATE).by == LAST_RESORT


@pytest.mark.parametrize("hanging", [fakes.Hanging, fakes.HangingAsync])
def test_a_debater_that_hangs_is_abandoned_at_its_deadline(hanging: type) -> None:
    bad = hanging()
    reply = answer_with(("bad", bad), GOOD, deadline=0.3)
    assert reply.by == "good"
    (event,) = reply.events
    assert event.kind is EventKind.FALLBACK
    assert event.detail.startswith("TimeoutError: ")
    assert "0.3 seconds" in event.detail
    if isinstance(bad, fakes.Hanging):
        bad.let_go.set()


@with_cases(("deadline", "limits"), "runs/time_of_fallbacks.json")
def test_fallbacks_have_less_time_but_never_more_than_the_selected(
    deadline: float | None, limits: list[float | None]
) -> None:
    seen: list[float | None] = []

    class Failing:
        """Notes the seconds that a model has, 85 percent of the debater's, and fails."""

        def answer(self, debate: Debate) -> Response:
            end = calls.current_context().deadline
            seen.append(end and (end - time.monotonic()) / 0.85)
            raise OSError("gone")

    answer_with(*((str(number), Failing()) for number in range(3)), deadline=deadline)
    assert [seconds and pytest.approx(seconds, abs=0.5) for seconds in seen] == limits


def test_many_hanging_calls_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    others = calls.hanging()
    most = others + 3
    monkeypatch.setattr("touche_rad.calls.MOST_HANGING", most)
    bad = fakes.Hanging()
    answerer = Answerer([LoadedDebater(bad, "bad")], deadline=0.05)  # type: ignore[arg-type]

    async def ask(times: int) -> list[str]:
        return [(await answerer.answer(DEBATE)).events[0].detail for _ in range(times)]

    async def both() -> tuple[list[str], list[str]]:
        before = await ask(most + 1)  # those of other tests may end meanwhile
        bad.let_go.set()
        with anyio.fail_after(5):
            while calls.hanging() > others:
                await anyio.sleep(0.005)
        answerer.deadline = 60
        return before, await ask(1)

    before, after = anyio.run(both)
    assert "TimeoutError" in before[2]
    assert before[most].startswith(f"TooManyCalls: {most} ")
    assert "AssertionError" in after[0]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that holds only what a test registers."""
    monkeypatch.setattr(plugin_registry, "_installed", lambda kind, path: {})


class Fake:
    """Answers its own name."""

    class Options(Options):
        tone: str = "calm"

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options

    def answer(self, debate: Debate) -> Response:
        return Response(content=f"{type(self).__name__}: {self.options.tone}")


def register_fake(name: str, *, needs: tuple[str, ...] = ()) -> None:
    plugins.debater(name, needs=needs)(type(name, (Fake,), {"__module__": __name__}))


def chain_of(name: str, services: Services, **options: str) -> tuple[LoadedDebater, ...]:
    return make_answerer(find("debater", name).configure(options), services).chain


@pytest.mark.usefixtures("registry")
def test_chain_is_the_selected_debater_and_the_fallbacks_whose_needs_are_met() -> None:
    register_fake("mine")
    register_fake("verbatim")
    register_fake("grounded", needs=("index",))
    chain = chain_of("mine", Services(index=SmallIndex()), tone="sharp")
    answers = [anyio.run(Answerer([debater]).answer, DEBATE) for debater in chain]
    assert [answer.response.content for answer in answers] == [
        "mine: sharp",
        "grounded: calm",  # the options are those of the selected debater
        "verbatim: calm",
    ]
    assert [debater.name for debater in chain_of("verbatim", Services())] == ["verbatim"]


@pytest.mark.usefixtures("registry")
def test_a_debater_that_cannot_be_made_is_an_error_only_if_it_is_selected() -> None:
    register_fake("mine")

    @plugins.debater("grounded")
    class Broken(Fake):
        def __init__(self, options: Options, services: Services) -> None:
            raise ValueError("no weights")

    _, fallback = chain_of("mine", Services())
    answer = anyio.run(Answerer([fallback]).answer, Debate().with_utterance("Zoos are bad."))
    assert answer.by == LAST_RESORT
    event = answer.events[0]
    assert event.kind == EventKind.FALLBACK
    assert event.plugin == "grounded"
    assert event.detail.endswith("ValueError: no weights")
    with expect_error(r"grounded.*ValueError: no weights", WorkError):
        chain_of("grounded", Services())


def test_the_time_that_a_call_waits_is_taken_from_its_deadline() -> None:
    one_at_a_time = calls.Calls(at_once=1)
    free = threading.Event()

    def left() -> float:
        deadline = calls.current_context().deadline
        assert deadline is not None
        return deadline - time.monotonic()

    async def work() -> tuple[float, float]:
        alone = await one_at_a_time(left, seconds=280, within=280)
        busy = asyncio.create_task(one_at_a_time(free.wait, 60))
        await asyncio.sleep(0)
        later = asyncio.create_task(one_at_a_time(left, seconds=280, within=280))
        with pytest.raises(calls.CallTimeout, match="answers"):
            await one_at_a_time(left, seconds=0.5, within=0.5)
        free.set()
        await busy
        return alone, await later

    alone, later = anyio.run(work)
    assert later < alone - 0.2, "less is left by the time that the second waited"
    assert later > 0


def test_a_call_that_hangs_does_not_stop_later_calls() -> None:
    together = calls.Calls()
    free = threading.Event()

    async def work() -> list[int]:
        hanging = asyncio.create_task(together(free.wait, 60))
        reply = await asyncio.gather(*(together(int, str(number)) for number in range(500)))
        free.set()
        await hanging
        return reply

    assert anyio.run(work) == list(range(500))


def test_a_coroutine_that_nobody_awaits_is_closed(recwarn: pytest.WarningsRecorder) -> None:
    """A run may stop just when a plain method returns a coroutine."""

    async def work() -> None:
        async def write() -> None: ...

        def stop_and_write(debate: Debate) -> Awaitable[None]:
            loop.call_soon_threadsafe(task.cancel)
            return write()

        loop = asyncio.get_running_loop()
        debater = LoadedDebater(SimpleNamespace(answer=stop_and_write), "stopping")  # type: ignore[arg-type]
        task = asyncio.create_task(Answerer([debater]).answer(DEBATE))
        with pytest.raises(asyncio.CancelledError):
            await task

    anyio.run(work)
    gc.collect()
    # The collector may also find what earlier tests of this process left open.
    assert not [
        str(warning.message) for warning in recwarn if "never awaited" in str(warning.message)
    ]
