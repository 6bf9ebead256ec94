"""The debate page: GET / is the page, POST /debate/answer answers step by step as JSON lines.

The server keeps nothing of a debate: the page sends the whole debate with each message.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from pydantic import Field

from touche_rad.calls import Calls
from touche_rad.criteria import Criteria, grice
from touche_rad.debate import NOTHING_FOUND
from touche_rad.errors import ToucheRadError
from touche_rad.events import log
from touche_rad.evidence.words import topic_of
from touche_rad.files.records import FieldError
from touche_rad.files.simulations import parse_simulation, system_response
from touche_rad.frozen import frozen
from touche_rad.pages.marks import marked_answer, shown_verdicts
from touche_rad.pages.rendering import SCRIPTS, SERVED_POLICY, STYLE, read_asset, render_served
from touche_rad.plugins import LoadedJudge
from touche_rad.runs.answering import Answer, Answerer
from touche_rad.runs.fallbacks import Fallback
from touche_rad.runs.judging import judge_view
from touche_rad.serve._bodies import MAX_TURNS, RequestBody
from touche_rad.serve.limits import is_loopback
from touche_rad.text import is_blank, map_texts, redact

_SCRIPT: Final = "serve/debate.js"
_PAGE_STYLE: Final = "serve/debate.css"
_ASSETS: Final = {*SCRIPTS, STYLE, _SCRIPT, _PAGE_STYLE}
_HEADERS: Final = {
    "Content-Security-Policy": SERVED_POLICY,
    "Cache-Control": "no-cache",
}
_ALIVE_SECONDS: Final = 5.0
"""Seconds between lines while nothing happens, by which the page sees that the server is alive."""
_SHOWN_CANDIDATES: Final = 5
"""Candidates that the page shows, besides those that are cited."""
_CITED: Final = "cited"
_USED: Final = "cited earlier in this debate"
_SEARCHED: Final = 30
_NEAR_TOPICS: Final = 4
"""Topics that are offered where the debater has found no argument."""


@frozen
class Offer:
    """Debaters and judges by the name that the page shows; the first of each is the default.

    Each is a function that returns the plugin, which may make it at its first call.
    """

    debaters: Mapping[str, Callable[[], Answerer]]
    judges: Mapping[str, Callable[[], LoadedJudge]] = field(default_factory=dict)
    limits: Sequence[str] = ()
    """What a user should know of the collection and the model."""
    topics: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Claims with which a debate can begin, by topic; the topic of a collection without is ""."""
    words: int = 60
    """Maximum words of an answer; 0 = no limit."""
    has_model: bool = False
    network: str = ""
    """Name under which other machines reach the server; empty if they cannot."""
    criteria: Criteria = field(default_factory=grice)


class PageRequest(RequestBody):
    """A debate as a simulation whose last turn has no response, and who answers and judges."""

    debater: str
    judges: list[str] = Field(default_factory=list)
    debate: dict[str, Any]


def page_response(template: str, **context: Any) -> HTMLResponse:
    """Return a page with the headers that allow only its own files."""
    return HTMLResponse(render_served(template, **context), headers=_HEADERS)


def add_debate_page(
    app: FastAPI, offer: Offer, deadline: float | None, count: Callable[[Answer], None]
) -> None:
    """Add the page, its files and its endpoint to the server; `count` gets each answer."""

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        setup = {
            "debaters": list(offer.debaters),
            "judges": list(offer.judges),
            "limits": list(offer.limits),
            "topics": offer.topics,
            "asks": {
                criterion.title: criterion.reminder for criterion in offer.criteria if offer.judges
            },
            "words": offer.words,
            "turns": MAX_TURNS,
            "model": offer.has_model,
        }
        is_local = is_loopback(request.url.hostname or "")
        return page_response(
            "serve/debate.html.jinja",
            scripts=(_SCRIPT,),
            styles=(_PAGE_STYLE,),
            title="touche-rad debate",
            setup=setup,
            local=is_local,
            # Another machine has found its own address.
            network=is_local and offer.network and f"http://{offer.network}:{request.url.port}",
        )

    @app.get("/assets/{name:path}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in _ASSETS:
            return PlainTextResponse("not found", 404, headers=_HEADERS)
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(read_asset(name), media_type=f"{kind}; charset=utf-8", headers=_HEADERS)

    @app.post("/debate/answer", include_in_schema=False)
    async def answer(request: PageRequest) -> Response:
        return StreamingResponse(
            _Steps(request, offer, deadline).lines(count),
            media_type="application/x-ndjson",
            headers={**_HEADERS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


def _said(fallback: Fallback) -> str:
    """Return who answered instead, without the place in the code, which the log names."""
    return redact(f"this {fallback.what[:-1]} is from {fallback.source}: {fallback.reason}")


@dataclass
class _Steps:
    """Answers one message and judges the answer, and reports each step as a JSON line."""

    request: PageRequest
    offer: Offer
    deadline: float | None

    def __post_init__(self) -> None:
        debater = self.request.debater
        if debater not in self.offer.debaters:
            raise FieldError("debater", f"{debater!r} is not offered by this server")
        for name in self.request.judges:
            if name not in self.offer.judges:
                raise FieldError("judges", f"{name!r} is not offered by this server")
        debate = parse_simulation(self.request.debate)
        if not 0 < len(debate.turns) <= MAX_TURNS:
            raise FieldError("simulation.userTurns", f"expected 1 to {MAX_TURNS} turns")
        if debate.last.response or is_blank(debate.last.utterance):
            raise FieldError(
                "simulation.userTurns", "expected a last turn with a message and no response"
            )
        self.debate = debate
        self._queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._begin()

    def _begin(self) -> None:
        """Begin to measure an answer or verdict."""
        self._start = time.monotonic()
        self._calls = 0
        self._tokens = 0

    def _spent(self) -> dict[str, Any]:
        seconds = round(time.monotonic() - self._start, 2)
        return {"seconds": seconds, "calls": self._calls, "tokens": self._tokens}

    def _put(self, event: str, **values: object) -> None:
        """Send an event; plugins' threads may call this too."""
        with suppress(RuntimeError):  # the server has stopped
            self._loop.call_soon_threadsafe(self._queue.put_nowait, {"event": event, **values})

    def _observe(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "model":
            self._calls += event["calls"]
            self._tokens += event["prompt_tokens"] + event["completion_tokens"]
        self._put(**event)

    def _near(self, answerer: Answerer) -> list[str]:
        """Return the topics near to the message: an argument has most of its words."""
        if answerer.index is None:
            return []
        message = self.debate.last.utterance
        asked = topic_of(message)
        near = dict.fromkeys(
            hit.argument.topic
            for hit in answerer.index.search("all", message, _SEARCHED)
            if 2 * len(asked & topic_of(f"{hit.argument.topic} {hit.argument.text}")) > len(asked)
        )
        return list(near)[:_NEAR_TOPICS]

    async def lines(self, count: Callable[[Answer], None]) -> AsyncIterator[str]:
        """Do the work and yield its lines; a browser that goes away stops the work."""
        task = asyncio.create_task(self._work(count))
        task.add_done_callback(lambda _: self._loop.call_soon(self._queue.put_nowait, None))
        try:
            while True:
                try:
                    event = await asyncio.wait_for(self._queue.get(), _ALIVE_SECONDS)
                except TimeoutError:
                    event = {"event": "alive"}
                if event is None:
                    break
                yield json.dumps(event) + "\n"
            error = None if task.cancelled() else task.exception()
            if error:
                log.warning("the debate page: %s", redact(str(error)), exc_info=error)
                yield json.dumps({"event": "error", "message": redact(str(error))}) + "\n"
            yield '{"event": "end"}\n'
        finally:
            task.cancel()

    async def _work(self, count: Callable[[Answer], None]) -> None:
        """Answer, list the candidates, and judge; each of them is a step of the page."""
        self._put("start", debater=self.request.debater)
        answerer = await asyncio.to_thread(self.offer.debaters[self.request.debater])
        self._begin()
        answer = await answerer.answer(self.debate, observe=self._observe)
        count(answer)
        near = None
        judges = list(dict.fromkeys(self.request.judges))
        criteria = self.offer.criteria
        if answer.response.content == NOTHING_FOUND:
            near = await asyncio.to_thread(self._near, answerer)
            if criteria.unit != "user":
                judges = []  # there is no answer to judge
        self._put(
            "answer",
            system=system_response(answer.response),
            shown=marked_answer(answer.response, self.debate.user_texts),
            near=near,
            notices=[_said(answer.fallback)] if answer.fallback else [],
            **self._spent(),
        )

        # The candidates, which the debater lists without calls of a model.
        explain = answer.debater.explain if answer.debater else None
        if explain and not self._calls:
            responses = [turn.response for turn in self.debate.turns if turn.response]
            earlier = {argument.id for response in responses for argument in response.arguments}
            notes = dict.fromkeys(earlier, _USED)
            notes |= {argument.id: _CITED for argument in answer.response.arguments}
            try:
                candidates = await Calls()(explain, self.debate)
            except Exception as error:
                log.info("no candidates: %s", redact(str(error)))
            else:
                rows = [
                    {
                        "rank": rank,
                        "text": candidate.text,
                        "score": candidate.score,
                        "note": notes.get(candidate.id, candidate.fault),
                    }
                    for rank, candidate in enumerate(candidates, 1)
                    if rank <= _SHOWN_CANDIDATES or notes.get(candidate.id) == _CITED
                ]
                self._put("candidates", considered=len(candidates), candidates=rows)

        view = self.debate.with_response(answer.response).views(criteria.unit)[-1]
        for name in judges:
            self._put("judging", judge=name)
            self._begin()
            verdicts: list[dict[str, object]] = []
            try:
                judge = await asyncio.to_thread(self.offer.judges[name])
            except ToucheRadError as error:
                notices = [redact(str(error))]
            else:
                judgement = await judge_view(
                    judge, view, criteria, deadline=self.deadline, observe=self._observe
                )
                notices = list(map(_said, judgement.fallbacks))
                verdicts = map_texts(
                    shown_verdicts(criteria, judgement.verdicts, judgement.unscored), redact
                )
            self._put("verdicts", judge=name, list=verdicts, notices=notices, **self._spent())
