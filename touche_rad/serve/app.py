"""The HTTP server: POST / answers; POST /quantity, /quality, /relation and /manner judge."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from itertools import groupby
from typing import Any, Final, TypeVar

import anyio
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.routing import APIRoute
from starlette.responses import Response as HttpResponse

from touche_rad import __version__
from touche_rad.debate import FALLBACK, Argument, Debate, Response, Turn
from touche_rad.events import log
from touche_rad.files.models import validate
from touche_rad.files.records import FieldError
from touche_rad.files.simulations import Body as ResponseBody
from touche_rad.files.simulations import body_of, parse_simulation
from touche_rad.lists import T
from touche_rad.models import Model
from touche_rad.plugins import LoadedJudge
from touche_rad.runs.answering import Answer, Answerer
from touche_rad.runs.judging import CachedJudge, fallback_verdict, judge_view
from touche_rad.serve._bodies import (
    MAX_TURNS,
    AnswerBody,
    ChatRequest,
    Fault,
    Health,
    JudgeRequest,
    Score,
    read_json,
)
from touche_rad.serve._earlier import EarlierAnswers
from touche_rad.serve.debate_page import Offer, add_debate_page, page_response
from touche_rad.serve.limits import SMALL, Access, Gate, Limits
from touche_rad.text import redact


def to_debate(request: ChatRequest) -> Debate:
    """Return the debate; consecutive messages of one role are joined, system messages ignored."""
    messages = [message for message in request.messages if message.role != "system"]
    if not messages or messages[-1].role != "user":
        raise FieldError("messages", "expected the last message to be the user's")
    turns: list[Turn] = []
    for role, group in groupby(messages, key=lambda message: message.role):
        of_role = list(group)
        text = " ".join(filter(None, (message.content for message in of_role)))
        if role == "user":
            turns.append(Turn(utterance=text))
            continue
        # The task's client does not send the arguments of earlier answers (`EarlierAnswers` knows
        # those of this server); others may.
        cited: list[Argument] = []
        for message in of_role:
            if message.arguments is not None:
                fields = {"arguments": message.arguments}
                cited += validate(ResponseBody, fields, lenient=True).arguments
        response = Response(content=text, arguments=tuple(cited))
        utterance = turns.pop().utterance if turns else ""
        turns.append(Turn(utterance=utterance, response=response))
    return Debate(turns=tuple(turns))


def to_view(request: JudgeRequest) -> Debate:
    """Return the debate, or up to the judged response of one, parsed as a simulation file is."""
    debate = parse_simulation({**request.rest, "simulation": request.simulation})
    count = len(request.simulation["userTurns"])
    if count > MAX_TURNS:
        raise FieldError("simulation.userTurns", f"expected at most {MAX_TURNS} turns, got {count}")
    number = request.userTurnIndex
    if number is None:
        return debate
    if not 0 <= number < count:
        raise FieldError("userTurnIndex", f"expected 0 to {count - 1}, got {number}")
    if debate.turns[number].response is None:
        raise FieldError(f"simulation.userTurns[{number}].systemResponse", "missing")
    return debate.view(number)


S = TypeVar("S")

REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": Fault, "description": description}
    for status, description in {
        400: "not JSON",
        401: "the token is missing or wrong",
        403: "sent by a web page of another server",
        408: "the body did not arrive in time",
        413: "the body is too large",
        503: "too many requests at a time",
        422: "a field is missing or wrong",
    }.items()
}


_LAST_LINE: Final = (
    "ended: answers %(answers)d (fallbacks %(fallbacks)d), verdicts by POST %(verdicts)d "
    "(fallbacks %(verdict_fallbacks)d) %(last_fallback)s"
)
"""With the cause of the last fallback."""


def create_app(
    answerer: Answerer,
    judge: LoadedJudge,
    *,
    deadline: float | None = None,
    limits: Limits | None = None,
    access: Access | None = None,
    model: Model | None = None,
    offer: Offer | None = None,
) -> FastAPI:
    """Make the server of one debater and one judge, which are the first of the page's `offer`."""
    offer = offer or Offer({"debater": lambda: answerer}, {"judge": lambda: judge})
    health = Health(
        version=__version__,
        debater=next(iter(offer.debaters)),
        judge=next(iter(offer.judges)),
        arguments=None if answerer.index is None else len(answerer.index),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # Both plugins are called once before the port opens, so that no request is slow.
        if model and model.backend:
            await model.backend.ready()
        debate = Debate().with_utterance("Is it worth while to argue about anything at all?")
        response = (await answerer.answer(debate)).response
        view = debate.with_response(response).views(criteria.unit)[-1]
        await judge_view(judge, view, criteria, deadline=deadline)
        yield
        level = logging.WARNING if health.last_fallback else logging.INFO
        log.log(level, _LAST_LINE, health.model_dump())

    app = FastAPI(
        title="touche-rad",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.router.route_class = _StrictRoute
    app.add_exception_handler(RequestValidationError, _refuse_invalid)
    app.add_exception_handler(FieldError, _refuse)
    app.add_exception_handler(400, _refuse_unreadable)
    criteria = offer.criteria

    def score_instead(path: str, detail: str) -> JSONResponse | None:
        """Return a fallback score for a body that is too large, which no judge can read."""
        key = path.removeprefix("/")
        criterion = next((criterion for criterion in criteria if criterion.key == key), None)
        if criterion is None:
            return None
        health.verdicts += 1
        health.verdict_fallbacks += 1
        health.last_fallback = detail
        verdict = fallback_verdict(criterion, detail)
        body = {"score": verdict.score, "explanation": verdict.rationale, FALLBACK: detail}
        return JSONResponse(body)

    app.add_middleware(
        Gate, limits=limits or Limits(), access=access or Access(), instead=score_instead
    )

    def count(answer: Answer) -> None:
        health.answers += 1
        if answer.fallback:
            health.fallbacks += 1
            health.last_fallback = answer.fallback.mark[FALLBACK]

    earlier = EarlierAnswers()

    @app.post("/", response_model=AnswerBody, responses=REFUSALS, summary="Answer the user")
    async def answer(request: ChatRequest, raw: Request) -> JSONResponse:
        """Answer the last message in at most 60 words, with the cited arguments."""
        debate = earlier.restore(await _parse(to_debate, request, raw))
        answer = await answerer.answer(debate)
        earlier.remember(debate, answer.response)
        count(answer)
        for event in answer.events:
            log.info("answered by %s: %s", answer.by, event.text)
        return JSONResponse(body_of(answer.response))

    judging = CachedJudge(judge, criteria, deadline)

    def endpoint_of(key: str) -> Any:
        async def endpoint(request: JudgeRequest, raw: Request) -> Score:
            """Judge the response to user turn `userTurnIndex`, without later turns, or all."""
            if (request.userTurnIndex is None) != (criteria.unit == "debate"):
                return Score(
                    score=None, explanation=f"the unit of these criteria is {criteria.unit}"
                )
            view = await _parse(to_view, request, raw)
            if criteria.unit == "user":
                view = view.views("user")[-1]
            verdict = (await judging.judge(view)).verdicts[key]
            health.verdicts += 1
            score = Score(score=verdict.score, explanation=verdict.rationale)
            if not criteria.official:
                score.answer = verdict.answer
            if verdict.fallback:
                health.verdict_fallbacks += 1
                score.fallback = health.last_fallback = verdict.fallback
            return score

        return endpoint

    for key in criteria.keys:
        app.post(
            f"/{key}",
            responses=REFUSALS,
            summary=f"Judge {key}",
            operation_id=f"judge_{key}",
            response_model_exclude_unset=True,
        )(endpoint_of(key))

    @app.get("/health", summary="State of the server and its plugins")
    async def healthy() -> Health:
        problem = model.problem if model else None
        health.model_problem = redact(f"{problem.problem}: {problem}") if problem else ""
        return health

    @app.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    async def docs(request: Request) -> HTMLResponse:
        return page_response(
            "serve/docs.html.jinja",
            title="touche-rad server",
            api=app.openapi(),
            refusals=REFUSALS,
            health=await healthy(),
            dumps=partial(json.dumps, indent=2, ensure_ascii=False),
            server=request.base_url,
            criteria=criteria.keys,
        )

    add_debate_page(app, offer, deadline, count)
    return app


async def _parse(parse: Callable[[S], T], source: S, raw: Request) -> T:
    """Parse a body; a large one in a thread, so that other requests are answered meanwhile."""
    if len(await raw.body()) < SMALL:
        return parse(source)
    return await anyio.to_thread.run_sync(parse, source)


class _StrictRequest(Request):
    """A request whose body is read once, by our rules."""

    async def json(self) -> Any:
        try:
            return await _parse(read_json, await self.body(), self)
        except FieldError as error:
            raise HTTPException(422, str(error)) from None


class _StrictRoute(APIRoute):
    """A route that gets strict requests, from which FastAPI makes the models of bodies."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, HttpResponse]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> HttpResponse:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, 422)


async def _refuse_invalid(request: Request, error: Exception) -> JSONResponse:
    """Describe the error in one line that does not repeat the request's text."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if isinstance(first["input"], bytes):  # FastAPI has not read it as JSON
        expected = "a JSON object, sent with the header `Content-Type: application/json`"
        return JSONResponse({"detail": f"body: expected {expected}"}, 422)
    if first["type"] == "json_invalid":
        problem = json.JSONDecodeError(first["ctx"]["error"], error.body, first["loc"][-1])
        return JSONResponse({"detail": f"body: expected JSON: {problem}"}, 400)
    place = ".".join(str(step) for step in first["loc"] if step != "body") or "body"
    return JSONResponse({"detail": f"{place}: {first['msg']}"}, 422)


async def _refuse_unreadable(request: Request, error: Exception) -> JSONResponse:
    """Describe what FastAPI calls an error of parsing."""
    expected = "JSON in UTF-8, without Content-Encoding, deep nesting and numbers of 4,300 digits"
    return JSONResponse({"detail": f"body: expected {expected}"}, 400)
