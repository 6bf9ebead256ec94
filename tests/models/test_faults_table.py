"""Ten thousand calls to an endpoint that fails in every way: each ends in a valid object or a name."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from pydantic import BaseModel, Field

from tests.conftest import repeats
from tests.models import scripted
from tests.models.scripted import Handler, Scripted, fails, raw, reply
from touche_rad.models import Message, Model, ModelError, sending
from touche_rad.models.endpoint import Address

CALLS = repeats(2_500)
_ASKED = re.compile(r"KIND (.+) TOKEN (\d+)\.")

Act = Callable[[Handler, int], None]
"""What the endpoint does for a token."""


class Counted(BaseModel):
    token: int
    score: float = Field(ge=0, le=1)


@dataclass(frozen=True)
class Kind:
    """A kind of fault: what is done first, what after that, and how the call must end."""

    first: Act
    then: Act | None = None
    ends: str = "answer"
    seconds: float = 60.0
    url: str = ""


def good(handler: Handler, token: int) -> None:
    says(json.dumps({"token": token, "score": 0.5}))(handler, token)


def says(said: Any, **more: Any) -> Act:
    return lambda handler, _: handler.say(200, json.dumps(reply(said, **more)).encode())


def does(act: Callable[[Handler], None]) -> Act:
    return lambda handler, _: act(handler)


def about(form: str) -> Act:
    """Say something that the token stands in."""
    return lambda handler, token: says(form.replace("#", str(token)))(handler, token)


def slowly(handler: Handler, token: int) -> None:
    time.sleep(0.05)
    good(handler, token)


def cut(handler: Handler, token: int) -> None:
    body = reply('{"token": ', finish_reason="length")
    handler.say(200, json.dumps({**body, "usage": {"completion_tokens": 1024}}).encode())


HTML = b"<html><body>It works!</body></html>"
LATE = {"ends": "Timeout", "seconds": 1.0}
KINDS: dict[str, Kind] = {
    "none": Kind(good),
    "408": Kind(does(fails(408)), good),
    "429": Kind(does(fails(429)), good),
    "429 with Retry-After": Kind(does(fails(429, Retry_After="0.01")), good),
    "429 with a date": Kind(does(fails(429, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT")), good),
    "500": Kind(does(fails(500)), good),
    "501": Kind(does(fails(501)), good),
    "502": Kind(does(fails(502, HTML)), good),
    "503": Kind(does(fails(503, b"")), good),
    "504": Kind(does(fails(504)), good),
    "524": Kind(does(fails(524, HTML)), good),
    "HTML": Kind(does(raw(HTML)), good),
    "empty body": Kind(does(raw(b"")), good),
    "no JSON": Kind(does(raw(b"\xff\xfe{")), good),
    "truncated JSON": Kind(does(raw(b'{"choices": [{"message": {"content": "{')), good),
    "a list": Kind(does(raw(b"[1, 2]")), good),
    "an error with 200": Kind(does(raw(b'{"error": {"message": "overloaded"}}')), good),
    "no choices": Kind(does(raw(b'{"choices": []}')), good),
    "choices that are none": Kind(does(raw(b'{"choices": [null]}')), good),
    "null content": Kind(says(None), good),
    "blank content": Kind(says("  \n "), good),
    "reset": Kind(does(scripted.reset), good),
    "reset in the middle": Kind(does(scripted.broken_off), good),
    "slow": Kind(slowly),
    "a fence": Kind(about('```json\n{"token": #, "score": 1}\n```')),
    "a number as a string": Kind(about('{"token": "#", "score": "0.5"}')),
    "talk around it": Kind(about('Sure! {"token": #, "score": 0} Anything else?')),
    "wrong schema, then right": Kind(about('{"tokens": #}'), good),
    "NaN, then right": Kind(about('{"token": #, "score": NaN}'), good),
    "null, then right": Kind(about('{"token": #, "score": null}'), good),
    "out of range, then right": Kind(about('{"token": #, "score": 7}'), good),
    "wrong schema for good": Kind(about('{"tokens": #}'), ends="InvalidAnswer"),
    "no object for good": Kind(says("I think so."), ends="InvalidAnswer"),
    "cut off": Kind(cut, ends="Truncated"),
    "refusal": Kind(
        lambda handler, _: handler.say(
            200,
            json.dumps(
                {
                    "choices": [
                        {"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}
                    ]
                }
            ).encode(),
        ),
        ends="Refusal",
    ),
    "content filter": Kind(says("", finish_reason="content_filter"), ends="Refusal"),
    "context overflow": Kind(
        does(fails(400, "This model's maximum context length is 8 tokens")), ends="PromptTooLong"
    ),
    "wrong model": Kind(does(fails(404, "The model `x` does not exist.")), ends="WrongModel"),
    "wrong key": Kind(does(fails(401, "Incorrect API key")), ends="Unauthorized"),
    "bad request": Kind(does(fails(400, "temperature must be a number")), ends="BadRequest"),
    "engine dead behind a live port": Kind(does(fails(500, "EngineDeadError")), ends="Busy"),
    "garbled for good": Kind(does(raw(HTML)), ends="BadReply"),
    "empty for good": Kind(says(None), ends="EmptyReply"),
    "too deep": Kind(does(raw(b"[" * 100_000)), ends="BadReply"),
    "silence": Kind(does(scripted.silent), **LATE),  # type: ignore[arg-type]
    "slow drip": Kind(does(scripted.dripping), **LATE),  # type: ignore[arg-type]
    "busy for longer than there is time": Kind(does(fails(429, Retry_After="3000")), ends="Busy"),
    "nobody there": Kind(good, ends="Unreachable", url="http://127.0.0.1:9/v1"),
    "TLS where there is none": Kind(good, ends="Unreachable", url="https://127.0.0.1:{port}/v1"),
}


@pytest.fixture
def server() -> Iterator[Scripted]:
    seen: Counter[tuple[str, int]] = Counter()
    lock = threading.Lock()

    def act(handler: Handler) -> None:
        asked = _ASKED.search(handler.body["messages"][0]["content"])
        assert asked is not None
        kind, token = KINDS[asked[1]], int(asked[2])
        with lock:
            seen[asked[1], token] += 1
            first = seen[asked[1], token] == 1
        (kind.first if first or kind.then is None else kind.then)(handler, token)

    with scripted.serving() as made:
        made.always = act
        yield made


async def ended(model: Model, name: str, token: int, seconds: float) -> str:
    """How one call ended; whatever else may happen fails the test."""
    begun = time.monotonic()
    try:
        asked = [Message("user", f"KIND {name} TOKEN {token}.")]
        answer = await model.ask(asked, Counted, deadline=seconds)
        outcome = "answer" if answer.token == token else f"invented {answer.token}"
    except ModelError as error:
        outcome = type(error).__name__ + (" in two lines" if "\n" in str(error) else "")
    over = time.monotonic() - begun - seconds
    return outcome if over < 15 else f"{outcome}, {over:.0f} s late"


async def outcomes(url: str, each: int) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    port = url.rpartition(":")[2].partition("/")[0]
    for name, kind in KINDS.items():
        model = Model(Address(kind.url.format(port=port) or url, "tiny"))
        asked = [
            (lambda token=token: ended(model, name, token, kind.seconds))  # noqa: B023
            for token in range(each)
        ]
        found[name] = Counter(str(one) for one in await model.ask_all(asked))
        await model.close()
    return found


@pytest.mark.long
def test_every_call_ends_in_a_valid_object_or_its_own_named_exception(
    server: Scripted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sending, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(sending, "LONGEST_WAIT", 0.004)
    each = CALLS // len(KINDS)
    assert len(KINDS) >= 30
    found = anyio.run(outcomes, server.url, each)
    with capsys.disabled():
        print(f"\n{len(KINDS)} kinds of fault, {each} calls each")
        for name, counts in found.items():
            told = ", ".join(f"{outcome} {count}" for outcome, count in counts.most_common())
            print(f"  {name:36s} {told}")
    wanted = {name: {kind.ends: each} for name, kind in KINDS.items()}
    assert {name: dict(counts) for name, counts in found.items()} == wanted
