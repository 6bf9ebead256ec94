"""Faults of the model's server, at every place that asks a model."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.faults import model_places
from tests.faults.cells import SAME, STOPS, TURN, Group, Observe, observe
from tests.faults.model_places import PLACES
from tests.models import scripted
from tests.models.by_schema import filled, prompt_of, schema_of
from tests.models.scripted import Answer, Handler, Scripted, content, fails, raw, reply
from touche_rad.models import sending

HOST = "model.test"


@dataclass(frozen=True)
class Fault:
    """What the server does to the calls of the affected turn, and the promise."""

    act: Answer
    promise: str
    once: bool = False
    """Whether only the first of these calls is affected."""
    deadline: float = 60
    """Time limit of a call in seconds."""
    lost: str = ""
    """How the server is lost with the first of these calls: its name, or its port."""


def body(**more: Any) -> Answer:
    """Answer with a completion whose fields are changed."""
    return lambda handler: handler.say(200, json.dumps({**reply(good(handler)), **more}).encode())


def message(**more: Any) -> Answer:
    """Answer with a message whose fields are changed."""
    return lambda handler: handler.say(
        200, json.dumps(reply(None, message={"role": "assistant", **more})).encode()
    )


def good(handler: Handler) -> str:
    """Return a valid answer, whose words depend on the prompt."""
    form = handler.body.get("response_format", {}).get("json_schema", {})
    messages = handler.body["messages"]
    if messages[-1]["content"].startswith("That is not valid"):
        messages = messages[:-2]
    prompt = prompt_of({"messages": messages})
    if form.get("name") == "Utterance":
        first = model_places.MARK in prompt and model_places.SPOKEN not in prompt
        said = model_places.SPOKEN if first else f"Why is number {len(prompt)} so?"
        return json.dumps(filled(form["schema"], utterance=said))
    return json.dumps(filled(form["schema"])) if form else "said"


def around(before: str, after: str) -> Answer:
    return lambda handler: handler.say(
        200, json.dumps(reply(before + good(handler) + after)).encode()
    )


def in_encoding(name: str) -> Answer:
    data = json.dumps(reply('{"x": "Größe"}'), ensure_ascii=False).encode(name)
    return raw(data)


def twice(handler: Handler) -> None:
    """Answer with two equal choices."""
    one = reply(good(handler))
    handler.say(200, json.dumps({**one, "choices": one["choices"] * 2}).encode())


def packed(handler: Handler) -> None:
    """Answer with a body that is not the gzip stream which its header names."""
    handler.say(200, gzip.compress(b"{}" * 50)[:20], Content_Encoding="gzip")


def no_http(handler: Handler) -> None:
    """Answer with something that is not HTTP."""
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
    handler.wfile.flush()
    scripted.reset(handler)


def short(handler: Handler) -> None:
    """Send fewer bytes than the header says, and close in the usual way."""
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


HTML = b"<html><body>It works!</body></html>"
LONG = {"finish_reason": "length"}
CONTROL = '{"\\u0000": "\\u001b[31m\\u0007"}'

FAULTS: dict[str, Fault] = {
    "connection refused": Fault(scripted.reset, STOPS, lost="port"),
    "name lookup fails": Fault(scripted.reset, STOPS, lost="name"),
    "connection reset, once": Fault(scripted.reset, SAME, once=True),
    "connection reset": Fault(scripted.reset, TURN),
    "reset in the middle of the body, once": Fault(scripted.broken_off, SAME, once=True),
    "reset in the middle of the body": Fault(scripted.broken_off, TURN),
    "body shorter than its length": Fault(short, TURN),
    "no HTTP": Fault(no_http, TURN),
    "no answer before the deadline": Fault(scripted.silent, TURN, deadline=2),
    "a byte now and then, without end": Fault(scripted.dripping, TURN, deadline=2),
    "empty body, once": Fault(raw(b""), SAME, once=True),
    "empty body": Fault(raw(b""), TURN),
    "status 302": Fault(fails(302, b"", Location="http://127.0.0.1:9/"), TURN),
    "status 400": Fault(fails(400, "temperature must be a number"), TURN),
    "status 400: the prompt is too long": Fault(
        fails(400, "This model's maximum context length is 8 tokens"), TURN
    ),
    "status 401": Fault(fails(401, "Incorrect API key"), TURN),
    "status 403": Fault(fails(403), TURN),
    "status 404: unknown model": Fault(fails(404, "The model `x` does not exist."), TURN),
    "status 408, once": Fault(fails(408), SAME, once=True),
    "status 413": Fault(fails(413, HTML), TURN),
    "status 429, once": Fault(fails(429), SAME, once=True),
    "status 429 with Retry-After, once": Fault(fails(429, Retry_After="0.01"), SAME, once=True),
    "status 429 with Retry-After of an hour": Fault(fails(429, Retry_After="3600"), TURN),
    "status 500, once": Fault(fails(500), SAME, once=True),
    "status 500": Fault(fails(500, "EngineDeadError"), TURN),
    "status 502, once": Fault(fails(502, HTML), SAME, once=True),
    "status 503, once": Fault(fails(503, b""), SAME, once=True),
    "status 503": Fault(fails(503, b""), TURN),
    "HTML instead of JSON": Fault(raw(HTML), TURN),
    "truncated JSON": Fault(raw(b'{"choices": [{"message": {"content": "{'), TURN),
    "JSON of 100,000 levels": Fault(raw(b"[" * 100_000), TURN),
    "a JSON list": Fault(raw(b"[1, 2]"), TURN),
    "an error with status 200": Fault(raw(b'{"error": {"message": "overloaded"}}'), TURN),
    "UTF-16": Fault(in_encoding("utf-16"), TURN),
    "Latin-1": Fault(in_encoding("latin-1"), TURN),
    "broken gzip": Fault(packed, TURN),
    "no choices": Fault(raw(b'{"choices": []}'), TURN),
    "duplicate choices": Fault(twice, SAME),
    "a reply in another model's name": Fault(body(model="another"), SAME),
    "null content": Fault(content(None), TURN),
    "empty content": Fault(content("  \n"), TURN),
    "control characters": Fault(content(CONTROL), TURN),
    "talk around the JSON": Fault(around("Sure! ", " Anything else?"), SAME),
    "wrong schema, once": Fault(content('{"other": 1}'), SAME, once=True),
    "wrong schema": Fault(content('{"other": 1}'), TURN),
    "no JSON in the answer": Fault(content("I think so."), TURN),
    "NaN as a number": Fault(content('{"score": NaN}'), TURN),
    "refusal": Fault(message(content=None, refusal="I cannot do that."), TURN),
    "content filter": Fault(content("", finish_reason="content_filter"), TURN),
    "a tool call instead of content": Fault(
        message(content=None, tool_calls=[{"id": "1", "type": "function", "function": {}}]), TURN
    ),
    "answer cut at the token limit": Fault(content('{"answer": "so', **LONG), TURN),
    "endless repetition up to the token limit": Fault(content("so so " * 20_000, **LONG), TURN),
    "an answer of 20 MB": Fault(raw(json.dumps(reply("x" * 20_000_000)).encode()), TURN),
}


class Campaign:
    """A scripted server behind a name, and the commands that ask it."""

    def __init__(self, server: Scripted, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.place, self.fault, self.spent = "", None, False  # type: str, Fault | None, bool
        self.lock = threading.Lock()
        server.always = self.act
        self.model = f"http://{HOST}:{server.server_port}/v1#tiny"
        self.truths: dict[str, bytes] = {}

    def act(self, handler: Handler) -> None:
        """Answer, or do what the fault says."""
        fault = self.fault
        with self.lock:
            asked = schema_of(handler.body), prompt_of(handler.body)
            affected = fault and model_places.is_affected(self.place, *asked)
            if affected and fault and fault.once:
                affected, self.spent = not self.spent, True
            if affected and fault and fault.lost:
                self.spent = True
        if fault and (affected or (fault.lost and self.spent)):
            fault.act(handler)
        else:
            handler.say(200, json.dumps(reply(good(handler))).encode())

    def look_up(self, host: Any, port: Any, *more: Any, **named: Any) -> Any:
        """Look up a name as the system does; the server's leads here, or nowhere."""
        if host in (HOST, HOST.encode()):
            lost = self.fault.lost if self.fault is not None and self.spent else ""
            if lost == "name":
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            host, port = "127.0.0.1", 9 if lost == "port" else port
        return _LOOK_UP(host, port, *more, **named)

    def cell(self, name: str, place: str) -> str:
        """Return what happened with a fault at a place."""
        command = model_places.command(
            place, self.folder / place.replace(" ", "-"), self.model, FAULTS[name].deadline
        )
        self.place, self.fault = place, None
        if place not in self.truths:
            self.truths[place] = command.truth()

        @contextmanager
        def fault() -> Iterator[None]:
            self.fault, self.spent = FAULTS[name], False
            try:
                yield
            finally:
                self.fault = None

        return observe(command, self.truths[place], fault())


_LOOK_UP: Callable[..., Any] = socket.getaddrinfo


@contextmanager
def observing(folder: Path) -> Iterator[Observe]:
    """Serve the scripted model under its name, with short waits."""
    with ExitStack() as stack:
        made = Campaign(stack.enter_context(scripted.serving()), folder)
        stack.enter_context(patch.object(socket, "getaddrinfo", made.look_up))
        stack.enter_context(patch.object(sending, "FIRST_WAIT", 0.001))
        # The server speaks no TLS: loading the CA certificates for each client would take most of the time.
        stack.enter_context(patch.object(ssl.SSLContext, "load_verify_locations"))
        stack.enter_context(patch.object(sending, "LONGEST_WAIT", 0.004))
        yield made.cell


GROUP = Group(
    "The model's server",
    {kind: dict.fromkeys(PLACES, fault.promise) for kind, fault in FAULTS.items()},
    observing,
)
