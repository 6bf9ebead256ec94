"""`Model.ask` and its siblings: a valid object or one error, whatever the endpoint does."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import pytest
from pydantic import BaseModel, Field

from tests.cases import with_cases
from tests.models import scripted
from tests.models.by_schema import form_of, last_message, roles_of
from tests.models.scripted import Scripted, content, fails, raw, reply, says
from tests.refusals import expect_error
from touche_rad.models import Message, Model, sending
from touche_rad.models import errors as faults
from touche_rad.models.endpoint import Address
from touche_rad.models.examples import Examples
from touche_rad.models.sending import Usage


class Fine(BaseModel):
    """What the model must answer with."""

    words: str
    score: int = Field(ge=0, le=5)


T = TypeVar("T")
ASKED = [Message("system", "Judge."), Message("user", "A text.")]
OK = '{"words": "fine", "score": 1}'


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sending, "RETRIES", replace(sending.RETRIES, first_wait=0.01, longest_wait=0.05)
    )


def _with_model(server: Scripted, work: Callable[[Model], Awaitable[T]], **settings: Any) -> T:
    async def run() -> T:
        model = Model(Address(server.url, "tiny"), **settings)
        try:
            return await work(model)
        finally:
            await model.close()

    return anyio.run(run)


def _ask(server: Scripted, *, deadline: float = 20.0, **settings: Any) -> Fine:
    return _with_model(server, lambda model: model.ask(ASKED, Fine), deadline=deadline, **settings)


def _asks(model: Model, count: int) -> list[Callable[[], Awaitable[Fine]]]:
    return [partial(model.ask, [Message("user", f"Text {n}.")], Fine) for n in range(count)]


class Numbers(BaseModel):
    """Numbers of every sort; what a server is told of one is no rule for the answer."""

    free: int
    maybe: float | None = None
    floor: int = Field(ge=3)
    open: float = Field(gt=0, lt=1)
    each: list[int] = []


def test_the_schema_bounds_each_number_and_a_larger_one_is_accepted(server: Scripted) -> None:
    server.script = [content('{"free": 123456789, "floor": 4, "open": 0.5, "each": [-1]}')]
    answer = _with_model(server, lambda model: model.ask(ASKED, Numbers))
    assert answer.free == 123456789
    fields = form_of(server.asked[-1])["properties"]
    most = 999_999
    ends = {"minimum": -most, "maximum": most}
    assert {name: fields["free"][name] for name in ends} == ends
    assert {"type": "number", **ends} in fields["maybe"]["anyOf"]
    assert fields["each"]["items"] == {"type": "integer", **ends}
    assert fields["floor"]["minimum"] == 3
    assert fields["floor"]["maximum"] == most
    assert fields["open"]["exclusiveMinimum"] == 0
    assert fields["open"]["exclusiveMaximum"] == 1
    assert not set(ends) & set(fields["open"])


PASSING = {
    "429 with a date": fails(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    "500": fails(500),
    "half of JSON": raw(b'{"choices": [{"me'),
    "a list": raw(b"[]"),
    "null": raw(b"null"),
    "an error with 200": says({"error": {"message": "engine dead"}}),
    "no choices": says({"choices": []}),
    "choices of no kind": says({"choices": "x"}),
    "no message": says({"choices": [{}]}),
    "null content": content(None),
    "blank": content("  \n"),
    "reset": scripted.reset,
}
LASTING = {
    "wrong model by 404": (fails(404, "The model `tiny` does not exist."), faults.WrongModel),
    "wrong model by 400": (fails(400, "The model does not exist"), faults.WrongModel),
    "wrong key": (fails(401), faults.Unauthorized),
    "forbidden": (fails(403), faults.Unauthorized),
    "overflow": (fails(400, "This model's maximum context length is 8"), faults.PromptTooLong),
    "overflow by 413": (fails(413, "The prompt is too long"), faults.PromptTooLong),
    "overflow by 422": (fails(422, "max_model_len is 8"), faults.PromptTooLong),
    "cut": (
        says(
            {**reply('{"words": "fi', finish_reason="length"), "usage": {"completion_tokens": 1024}}
        ),
        faults.Truncated,
    ),
    "refusal": (
        says(reply(None) | {"choices": [{"message": {"refusal": "I can't"}}]}),
        faults.Refusal,
    ),
    "filter": (content("x", finish_reason="content_filter"), faults.Refusal),
}


@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_is_retried_and_a_lasting_one_is_a_retryable_error(
    server: Scripted, fault: str
) -> None:
    server.script = [PASSING[fault], PASSING[fault]]
    assert _ask(server) == Fine(words="fine", score=1)
    assert len(server.asked) == 3
    server.always = PASSING[fault]
    with pytest.raises(faults.ModelError) as raised:
        _ask(server)
    assert raised.value.retryable
    assert len(server.asked) == 3 + sending.RETRIES.tries
    assert "\n" not in str(raised.value)


@with_cases("text", "models/invalid_answers.json")
def test_an_invalid_answer_is_sent_back_once(server: Scripted, text: str) -> None:
    server.script = [content(text)]
    assert _ask(server) == Fine(words="fine", score=1)
    messages = server.asked[1]["messages"]
    assert roles_of(messages) == ["system", "user", "assistant", "user"]
    assert "not valid" in messages[-1]["content"]
    server.always = content(text)
    with pytest.raises(faults.InvalidAnswer, match="Fine"):
        _ask(server)
    assert len(server.asked) == 4


@pytest.mark.parametrize("fault", LASTING)
def test_an_error_that_a_retry_cannot_mend_is_raised_at_once(server: Scripted, fault: str) -> None:
    server.always, kind = LASTING[fault]
    with pytest.raises(kind):
        _ask(server)
    assert len(server.asked) == 1


@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_calls_are_open_than_allowed(server: Scripted, at_once: int) -> None:
    lock, count, most = threading.Lock(), 0, 0

    def answer(handler: Any) -> None:
        nonlocal count, most
        with lock:
            count += 1
            most = max(most, count)
        time.sleep(0.05)
        with lock:
            count -= 1
        content(OK)(handler)

    server.always = answer

    answers = _with_model(
        server, lambda model: model.ask_all(_asks(model, 15)), at_once=at_once, deadline=0.5
    )
    assert answers == [Fine(words="fine", score=1)] * 15, "waiting for a place has no limit"
    assert most == at_once


def test_calls_that_waited_know_that_the_model_thinks(server: Scripted) -> None:
    def answer(handler: Any) -> None:
        cut = handler.body["max_tokens"] == 1024
        body = reply("<think>Hm" if cut else OK, finish_reason="length" if cut else "stop")
        says({**body, "usage": {"completion_tokens": 1024}})(handler)

    server.always = answer
    _with_model(server, lambda model: model.ask_all(_asks(model, 5)), at_once=1)
    assert [body["max_tokens"] for body in server.asked].count(1024) == 1


@pytest.mark.parametrize(
    ("usual_seconds", "slots", "sent"),
    [(0.0, 64, 3), (0.0, 1, 2), (0.9, 64, 2)],
    ids=["sent again", "no slot is free", "replies are slow"],
)
def test_a_call_that_hangs_is_sent_again_after_half_of_its_time(
    server: Scripted, usual_seconds: float, slots: int, sent: int
) -> None:
    def slow(handler: scripted.Handler) -> None:
        time.sleep(usual_seconds)
        content(OK)(handler)

    async def ask(model: Model) -> Fine:
        server.script = [slow, scripted.silent]
        await model.ask([Message("user", "First.")], Fine)
        return await model.ask(ASKED, Fine)

    usage = Usage()
    settings = {"deadline": 2.0, "at_once": slots, "usage": usage}
    if sent == 3:
        assert _with_model(server, ask, **settings).score == 1
    else:
        with pytest.raises(faults.Timeout):
            _with_model(server, ask, **settings)
    assert len(server.asked) == usage.total.calls == sent


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "https://127.0.0.1:{port}/v1"])
def test_a_server_that_is_missing_or_has_no_tls_is_unreachable(server: Scripted, url: str) -> None:
    model = Model(Address(url.format(port=server.server_port), "tiny"))
    with pytest.raises(faults.Unreachable):
        anyio.run(model.ask, ASKED, Fine)


@with_cases("text", "models/untidy_answers.json")
def test_the_object_is_found_in_an_untidy_answer(server: Scripted, text: str) -> None:
    server.always = content(text)
    assert _ask(server).score == 1
    assert len(server.asked) == 1


def test_an_answer_may_quote_the_marks_of_thoughts(server: Scripted) -> None:
    server.always = content('{"words": "They wrote <think>no</think>.", "score": 1}')
    assert _ask(server).words == "They wrote <think>no</think>."


def test_a_server_without_schemas_gets_simpler_requests(server: Scripted) -> None:
    server.script = [
        fails(400, "response_format json_schema is not supported"),
        fails(400, "response_format is not supported"),
    ]

    async def twice(model: Model) -> list[Fine]:
        return [await model.ask(ASKED, Fine) for _ in range(2)]

    assert _with_model(server, twice) == [Fine(words="fine", score=1)] * 2
    formats = [body.get("response_format", {}).get("type") for body in server.asked]
    assert formats == ["json_schema", "json_object", None, None]
    schema = form_of(server.asked[0])
    assert schema["required"] == ["words", "score"]


def test_what_one_model_of_a_server_refuses_is_tried_with_the_other(server: Scripted) -> None:
    async def both(model: Model) -> list[Fine]:
        return [await model.copy(name="qwen3:8b").ask(ASKED, Fine), await model.ask(ASKED, Fine)]

    server.script = [fails(400, "an unknown field")] * 5
    assert _with_model(server, both) == [Fine(words="fine", score=1)] * 2
    assert server.asked[-1]["model"] == "tiny"
    assert "response_format" in server.asked[-1]


def test_an_answer_that_ends_in_endless_blanks_is_asked_for_without_a_schema(
    server: Scripted,
) -> None:
    cut = reply('{"words": "fi' + " " * 40, finish_reason="length")
    server.script = [says({**cut, "usage": {"completion_tokens": 1024}})]
    assert _ask(server) == Fine(words="fine", score=1)
    assert ["response_format" in body for body in server.asked] == [True, False]


def test_a_prompt_that_is_too_long_is_shortened(server: Scripted) -> None:
    server.script = [fails(400, "maximum context length is 8 tokens")] * 2
    long = [Message("system", "Judge."), *(Message("user", f"Turn {n}.") for n in range(4))]

    def shorten(messages: Sequence[Message]) -> Sequence[Message] | None:
        return [messages[0], *messages[2:]] if len(messages) > 2 else None

    answer = _with_model(server, lambda model: model.ask(long, Fine, shorten=shorten))
    assert answer.words == "fine"
    assert [len(body["messages"]) for body in server.asked] == [5, 4, 3]
    assert last_message(server.asked[-1]) == "Turn 3."


def _logprobs(**chances: float) -> dict[str, Any]:
    tops = [{"token": token, "logprob": chance} for token, chance in chances.items()]
    return {"logprobs": {"content": [{"token": next(iter(chances)), "top_logprobs": tops}]}}


def test_choices_have_probabilities(server: Scripted) -> None:
    server.always = content("Yes", **_logprobs(Yes=-0.1, no=-2.5, maybe=-3.0, Y=-4.0))

    def choice() -> dict[str, float]:
        return _with_model(server, lambda model: model.ask_choice(ASKED, ["yes", "no"]))

    likely = choice()
    assert likely["yes"] + likely["no"] == pytest.approx(1.0)
    assert likely["yes"] == pytest.approx(0.919, abs=0.005)
    assert server.asked[0]["structured_outputs"] == {"choice": ["yes", "no"]}
    assert server.asked[0]["max_tokens"] == 1
    server.always = content("No.")
    assert choice() == {"yes": 0.0, "no": 1.0}
    server.script = [content("Perhaps")]
    assert choice() == {"yes": 0.0, "no": 1.0}
    correction = server.asked[-1]["messages"][-1]
    assert correction["role"] == "user"
    assert "yes or no" in correction["content"]


class Shown(BaseModel):
    """An answer with a list, a choice and a key that may be missing."""

    verdict: Literal["yes", "no"]
    reasons: list[str] = []
    weight: int | None = None


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "**Yes**", "reasons": null}',
        '{"verdict": "Yes.", "weight": "null"}',
        '{"verdict": "YES - because it is so", "reasons": [], "weight": null}',
        '{"Verdict": "yes", "Reasons": [], "note": ""}',
    ],
)
def test_a_choice_is_read_in_any_spelling(server: Scripted, text: str) -> None:
    server.always = content(text)
    answer = _with_model(server, lambda model: model.ask(ASKED, Shown))
    assert answer == Shown(verdict="yes")
    assert len(server.asked) == 1


@pytest.mark.parametrize("tokens", [['{"verdict": "', "yes", '"}'], ['{"verdict": ', '"yes', '"}']])
def test_a_field_has_the_probabilities_of_its_choice(server: Scripted, tokens: list[str]) -> None:
    tops = [{"token": "yes", "logprob": -0.1}, {"token": "no", "logprob": -2.5}]
    listed = [{"token": token, "top_logprobs": tops if "yes" in token else []} for token in tokens]
    server.always = content("".join(tokens), logprobs={"content": listed})
    choices = {"verdict": ("yes", "no")}
    answer, likely = _with_model(
        server, lambda model: model.ask_scored(ASKED, Shown, choices=choices)
    )
    assert answer == Shown(verdict="yes")
    assert likely == {"verdict": pytest.approx({"yes": 0.917, "no": 0.083}, abs=0.001)}


class Sorts(BaseModel):
    """Fields of each sort that schemas have."""

    either: int | str
    choice: Literal["yes", "no"]
    texts: list[str]
    share: float = Field(ge=0, le=1)
    holds: bool


@pytest.mark.parametrize("varied", [False, True])
def test_an_example_fits_its_schema(varied: bool) -> None:
    assert anyio.run(Model(Examples(varied=varied)).ask, ASKED, Sorts).texts


def test_values_are_read_as_the_sort_that_the_schema_has(server: Scripted) -> None:
    values = {
        "either": "7",
        "choice": "**Yes.**",
        "texts": "one",
        "share": "0.5 or so",
        "holds": "No.",
    }
    server.always = content(json.dumps(values))
    sorts = Sorts(either="7", choice="yes", texts=["one"], share=0.5, holds=False)
    assert _with_model(server, lambda model: model.ask(ASKED, Sorts)) == sorts
    assert len(server.asked) == 1


@pytest.mark.parametrize("text", ['{"verdict": "yes or no"}', '{"verdict": "yesterday"}'])
def test_an_unclear_choice_is_sent_back(server: Scripted, text: str) -> None:
    server.script = [content(text)]
    server.always = content('{"verdict": "no"}')
    assert _with_model(server, lambda model: model.ask(ASKED, Shown)).verdict == "no"
    assert len(server.asked) == 2


def test_a_strict_server_gets_a_schema_that_it_accepts(server: Scripted) -> None:
    server.always = content('{"verdict": "yes", "reasons": [], "weight": null}')
    _with_model(server, lambda model: model.ask(ASKED, Shown, max_tokens=3000))
    assert server.asked[0]["max_tokens"] == 3000
    schema = form_of(server.asked[0])
    assert schema["required"] == ["verdict", "reasons", "weight"]
    assert schema["additionalProperties"] is False
    assert "default" not in json.dumps(schema)


def test_a_field_that_a_server_refuses_is_sent_once(server: Scripted) -> None:
    def answer(handler: Any) -> None:
        refused = "structured_outputs" in handler.body
        (fails(400, "structured_outputs is unknown") if refused else content("**Yes**"))(handler)

    server.always = answer

    async def five(model: Model) -> list[dict[str, float]]:
        return [
            await model.ask_choice([Message("user", f"{number}?")], ["yes", "no"])
            for number in range(5)
        ]

    assert _with_model(server, five) == [{"yes": 1.0, "no": 0.0}] * 5
    assert ["structured_outputs" in body for body in server.asked] == [True] + [False] * 5


def test_of_many_parallel_calls_one_may_fail(server: Scripted) -> None:
    def answer(handler: scripted.Handler) -> None:
        text = handler.body["messages"][0]["content"]
        (fails(401) if text == "Text 7." else content(json.dumps({"words": text, "score": 1})))(
            handler
        )

    server.always = answer
    progress: list[tuple[int, int]] = []

    def work(model: Model) -> Awaitable[list[Any]]:
        return model.ask_all(_asks(model, 60), lambda done, total: progress.append((done, total)))

    answers = _with_model(server, work, at_once=16)
    assert isinstance(answers.pop(7), faults.Unauthorized)
    assert [answer.words for answer in answers] == [f"Text {n}." for n in range(60) if n != 7]
    assert progress[-1] == (60, 60)


def test_equal_parallel_requests_are_sent_once(server: Scripted, tmp_path: Path) -> None:
    def work(model: Model) -> Awaitable[list[Any]]:
        return model.ask_all([partial(model.ask, ASKED, Fine)] * 40)

    assert _with_model(server, work, cache=tmp_path) == [Fine(words="fine", score=1)] * 40
    assert len(server.asked) == 1


def test_a_cache_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    Path("file").write_text("x")
    cache = tmp_path / "file/x"
    with expect_error(re.escape(f"--cache {cache}: ")):
        Model(Address("EMPTY", "tiny"), cache=cache)


def test_costs_are_counted_and_budgets_hold(server: Scripted) -> None:
    usage = Usage(max_calls=3)
    server.script = [fails(503)]

    async def thrice(model: Model) -> None:
        for step in ("first", "second", "third"):
            await model.ask(ASKED, Fine, step=step)

    with pytest.raises(faults.OverBudget):
        _with_model(server, thrice, usage=usage)
    total: Any = usage.record()["total"]
    steps: Any = usage.record()["plugins"]["other"]
    counts = {"calls": 3, "retries": 1, "failures": 1}
    tokens = {"prompt_tokens": 20, "completion_tokens": 10, "cached_tokens": 8}
    assert total.items() >= (counts | tokens).items()
    assert steps["first"]["calls"] == 2
    assert steps["third"]["failures"] == 1


def test_calls_are_traced_without_the_key(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    server.script = [fails(503, "busy")]
    _ask(server, trace=Path("trace.jsonl"))
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    text = Path("trace.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [bool(line["fault"]) for line in lines] == [True, False]
    assert lines[1]["answer"]["choices"][0]["message"]["content"] == OK
    assert "sk-secret" not in text
    _ask(server, trace=Path("no/trace.jsonl"))


def test_an_unpaired_surrogate_is_sent_as_a_question_mark(server: Scripted) -> None:
    _with_model(server, lambda model: model.ask([Message("user", "a\ud800b")], Fine))
    assert server.asked[0]["messages"][0]["content"] == "a?b"


def test_one_token_is_enough_for_a_choice(server: Scripted) -> None:
    async def twice(model: Model) -> tuple[dict[str, float], list[str]]:
        for _ in range(2):
            likely = await model.ask_choice(ASKED, ["yes", "no"])
        return likely, model.warnings

    cut = {"finish_reason": "length"}
    server.always = content("y", **_logprobs(y=-0.1, no=-2.5), **cut)
    likely, warnings = _with_model(server, twice)
    assert likely["yes"] == pytest.approx(0.917, abs=0.005)
    assert len(server.asked) == 2, "the token that was cut off is enough"
    assert warnings == []
    server.always = content("yes", **cut)
    likely, warnings = _with_model(server, twice)
    assert likely == {"yes": 1.0, "no": 0.0}
    assert len(server.asked) == 4
    (warning,) = warnings
    assert warning.startswith(f"{server.url}: no log probabilities")


def test_one_token_that_is_no_choice_is_followed_by_more(server: Scripted) -> None:
    def by_tokens(handler: scripted.Handler) -> None:
        if handler.body["max_tokens"] == 1:
            content("Well", finish_reason="length")(handler)
        else:
            content("No.")(handler)

    async def twice(model: Model) -> list[dict[str, float]]:
        return [await model.ask_choice(ASKED, ["yes", "no"]) for _ in range(2)]

    server.always = by_tokens
    assert _with_model(server, twice) == [{"yes": 0.0, "no": 1.0}] * 2
    tokens = [body["max_tokens"] for body in server.asked]
    assert tokens == [1, 8, 8], "more tokens, once and for all"
