"""The debate page: GET / is the page, POST /debate/answer answers step by step as JSON lines.

The server keeps nothing of a debate: the page sends the whole debate with each message.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from pydantic import Field

from touche_rad.calls import Calls, call_context
from touche_rad.debate import Debate
from touche_rad.errors import ToucheRadError
from touche_rad.files.records import FieldError, check_depth, whole_characters
from touche_rad.files.simulations import parse_simulation, system_response
from touche_rad.pages.marks import marked_answer
from touche_rad.pages.rendering import SCRIPTS, SERVED_POLICY, STYLE, read_asset, render_served
from touche_rad.plugins import Explains, Judge
from touche_rad.runs.answering import Answer, Answerer
from touche_rad.runs.judging import judge_view
from touche_rad.serve.bodies import MAX_TURNS, Body, RequestFault
from touche_rad.serve.offer import Offer
from touche_rad.serve.steps import watch
from touche_rad.text import redact

log = logging.getLogger("touche_rad")

_OWN: Final = ("serve/debate.js", "serve/debate.css")
_ASSETS: Final = {*SCRIPTS, STYLE, *_OWN}
_HEADERS: Final = {
    "Content-Security-Policy": SERVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_ALIVE: Final = 5.0
"""Seconds between lines while nothing happens, by which the page sees that the server is alive."""
_CANDIDATES: Final = 5


class PageRequest(Body):
    """A debate as a simulation whose last turn has no response, and who answers and judges."""

    debater: str
    judges: list[str] = Field(default_factory=list)
    debate: dict[str, Any]


@dataclass
class _Meter:
    """Seconds, calls and tokens of one answer or verdict."""

    begun: float = field(default_factory=time.monotonic)
    calls: int = 0
    tokens: int = 0

    def add(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "model":
            self.calls += event["calls"]
            self.tokens += event["prompt_tokens"] + event["completion_tokens"]

    def spent(self) -> dict[str, Any]:
        seconds = round(time.monotonic() - self.begun, 2)
        return {"seconds": seconds, "calls": self.calls, "tokens": self.tokens}


def page_response(template: str, **context: Any) -> HTMLResponse:
    """Return a page with the headers that allow only its own files."""
    return HTMLResponse(render_served(template, **context), headers=_HEADERS)


def add_debate_page(
    app: FastAPI, offer: Offer, deadline: float | None, count: Callable[[Answer], None]
) -> None:
    """Add the page, its files and its endpoint to the server; `count` gets each answer."""

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        setup = {
            "debaters": list(offer.debaters),
            "judges": list(offer.judges),
            "notices": list(offer.notices),
            "examples": list(offer.examples),
        }
        return page_response(
            "serve/debate.html.jinja",
            scripts=_OWN[:1],
            styles=_OWN[1:],
            title="touche-rad debate",
            setup=setup,
        )

    @app.get("/assets/{name:path}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in _ASSETS:
            return PlainTextResponse("not found", 404, headers=_HEADERS)
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(read_asset(name), media_type=f"{kind}; charset=utf-8", headers=_HEADERS)

    @app.post("/debate/answer", include_in_schema=False)
    async def answer(request: PageRequest) -> Response:
        debate = _debate_of(request, offer)
        lines = _Lines()
        work = _answer(request, debate, offer, deadline, lines, count)
        return StreamingResponse(
            lines.follow(work),
            media_type="application/x-ndjson",
            headers={**_HEADERS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


def _debate_of(request: PageRequest, offer: Offer) -> Debate:
    if request.debater not in offer.debaters:
        raise RequestFault(f"debater {request.debater!r} is not offered by this server")
    for name in request.judges:
        if name not in offer.judges:
            raise RequestFault(f"judge {name!r} is not offered by this server")
    try:
        check_depth(request.debate)
        debate = parse_simulation(whole_characters(request.debate), lenient=True)
    except FieldError as error:
        raise RequestFault(str(error)) from None
    if not 0 < len(debate.turns) <= MAX_TURNS:
        raise RequestFault(f"simulation.userTurns: expected 1 to {MAX_TURNS} turns")
    if debate.last.response is not None or not debate.last.utterance.strip():
        raise RequestFault(
            "simulation.userTurns: expected a last turn with a message and no response"
        )
    return debate


class _Lines:
    """JSON lines from the work on an answer to the browser."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def put(self, event: str, **values: Any) -> None:
        """Send an event; plugins' threads may call this too."""
        with suppress(RuntimeError):  # the server has stopped
            self._loop.call_soon_threadsafe(self._queue.put_nowait, {"event": event, **values})

    async def follow(self, work: Any) -> AsyncIterator[str]:
        """Do the work and yield its lines; a browser that goes away stops the work."""
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._loop.call_soon(self._queue.put_nowait, None))
        try:
            while True:
                try:
                    one = await asyncio.wait_for(self._queue.get(), _ALIVE)
                except TimeoutError:
                    one = {"event": "alive"}
                if one is None:
                    break
                yield json.dumps(one) + "\n"
            error = None if task.cancelled() else task.exception()
            if error is not None:
                log.warning("the debate page: %s", redact(str(error)), exc_info=error)
                yield json.dumps({"event": "error", "message": redact(str(error))}) + "\n"
            yield '{"event": "end"}\n'
        finally:
            task.cancel()


async def _answer(
    request: PageRequest,
    debate: Debate,
    offer: Offer,
    deadline: float | None,
    lines: _Lines,
    count: Callable[[Answer], None],
) -> None:
    lines.put("start", debater=request.debater)
    answerer = await asyncio.to_thread(offer.debaters[request.debater])
    watch(answerer.index)
    meter = _Meter()
    with call_context(observe=_observer(lines, meter)):
        answer = await answerer.answer(debate)
    count(answer)
    lines.put(
        "answer",
        system=system_response(answer.response),
        shown=marked_answer(answer.response),
        by=answer.by,
        notices=[redact(one) for one in answer.notices],
        notes=[redact(one) for one in answer.notes],
        **meter.spent(),
    )
    if not meter.calls:
        await _explain(answerer, answer, debate, lines)
    for name in request.judges:
        await _judge(name, offer, debate.with_response(answer.response), deadline, lines)


def _observer(lines: _Lines, meter: _Meter) -> Any:
    def observe(event: Mapping[str, Any]) -> None:
        meter.add(event)
        lines.put(**dict(event))

    return observe


async def _explain(answerer: Answerer, answer: Answer, debate: Debate, lines: _Lines) -> None:
    """Send the candidates, if the debater lists them without calls of a model."""
    debater = answerer.debater_of(answer)
    if not isinstance(debater, Explains):
        return
    cited = {argument.id for argument in answer.response.arguments}
    try:
        candidates: Any = await Calls()(debater.explain, debate)
        records = [
            one.record(rank, chosen=one.id in cited) for rank, one in enumerate(candidates, 1)
        ]
    except Exception as error:
        log.info("no candidates: %s", redact(str(error)))
        return
    shown = [one for one in records if one["rank"] <= _CANDIDATES or one["chosen"]]
    lines.put("candidates", considered=len(records), list=shown)


async def _judge(
    name: str, offer: Offer, view: Debate, deadline: float | None, lines: _Lines
) -> None:
    lines.put("judging", judge=name)
    meter = _Meter()
    try:
        judge: Judge = await asyncio.to_thread(offer.judges[name])
    except ToucheRadError as error:
        lines.put("verdicts", judge=name, list=[], notices=[redact(str(error))], **meter.spent())
        return
    with call_context(observe=_observer(lines, meter)):
        given = await judge_view(judge, view, deadline=deadline)
    verdicts = [
        {
            "maxim": maxim.key,
            "score": None if maxim in given.unscored else one.score,
            "yes": one.yes,
            "rationale": redact(one.rationale),
        }
        for maxim, one in given.verdicts.items()
    ]
    notices = [redact(one.notice) for one in given.fallbacks]
    lines.put("verdicts", judge=name, list=verdicts, notices=notices, **meter.spent())
