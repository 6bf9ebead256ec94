"""The local server of the labelling page.

Only this machine can connect. All paths begin with a token that is new at each start, so that other
pages in the browser cannot read or post answers; the host name is checked against DNS rebinding.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.middleware.base import RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware

from touche_rad.errors import why
from touche_rad.files.records import FieldError
from touche_rad.labelling._study import LabelBody
from touche_rad.labelling._views import (
    answers_record,
    question_record,
    state_record,
    turn_record,
)
from touche_rad.labelling.exchanges import TurnPlace
from touche_rad.labelling.session import LabelSession
from touche_rad.pages import rendering

HOSTS: Final = ("127.0.0.1", "localhost")
_SCRIPT: Final = "labelling/label.js"
_STYLE: Final = "labelling/label.css"
_ASSETS: Final = (rendering.STYLE, *rendering.SCRIPTS, _SCRIPT, _STYLE)
_SECONDS_BETWEEN_WRITES: Final = 1.0
"""Seconds between two writes of the labels file; the log has each answer at once."""
_HEADERS: Final = {
    "Content-Security-Policy": (
        f"{rendering.SERVED_POLICY}; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def create_app(session: LabelSession, token: str, *, settle: bool = False) -> FastAPI:
    """Make the server of one annotator's work."""
    app = FastAPI(
        title="touche-rad label",
        openapi_url=None,  # nor pages of docs, which are made of it
        lifespan=lambda _: _writing(session),
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS), www_redirect=False)

    @app.middleware("http")
    async def protect(request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Refuse posts of other pages, and send the headers of our own."""
        origin = request.headers.get("origin")
        host = request.headers.get("host", "")
        if request.method == "POST" and origin is not None and origin != f"http://{host}":
            return PlainTextResponse("posts of other pages are refused", 403, _HEADERS)
        response = await call_next(request)
        response.headers.update(_HEADERS)
        return response

    @app.exception_handler(RequestValidationError)
    async def refuse(request: Request, error: RequestValidationError) -> JSONResponse:
        """Describe the error without the body's values, which JSON may not be able to repeat."""
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return JSONResponse({"detail": f"{place}: {first['msg']}"}, 422)

    router = APIRouter(prefix=f"/{token}")
    paths = session.exchanges.paths
    runs = f"{len(paths)} runs" if len(paths) > 1 else paths[0].name

    @router.get("/", response_class=HTMLResponse)
    async def page() -> str:
        return rendering.render_served(
            "labelling/label.html.jinja",
            scripts=[_SCRIPT],
            styles=[_STYLE],
            root=f"/{token}/assets/",
            title="Labelling",
            data={
                "annotator": session.annotator,
                "run": runs,
                "output": session.output.name,
                "settle": settle,
                "unit": session.criteria.unit,
                "questions": list(map(question_record, session.criteria)),
            },
        )

    @router.get("/assets/{name:path}")
    async def asset(name: str) -> Response:
        if name not in _ASSETS:
            raise HTTPException(404)
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(rendering.read_asset(name), media_type=kind)

    def check(place: TurnPlace) -> TurnPlace:
        if place not in session.exchanges.views:
            raise HTTPException(404, "there is no such turn")
        return place

    @router.get("/queue")
    async def queue(settle: bool = False) -> dict[str, Any]:
        """Return the turns of a view, which of them are open, and the progress."""
        turns = session.queue
        first = session.first_open()
        is_open = [not session.study.is_complete(session.annotator, place) for place in turns]
        if settle:
            turns = list(dict.fromkeys(place for place, _ in session.study.disagreements()))
            unsettled = {place for place, _ in session.study.open_disagreements()}
            is_open = [place in unsettled for place in turns]
            first = is_open.index(True) if unsettled else 0
        return {"places": turns, "first": first, "open": is_open, **state_record(session)}

    @router.get("/turn")
    async def turn(debate: int, turn: int, settle: bool = False) -> dict[str, Any]:
        """Return a turn with the annotator's answers."""
        return turn_record(session, check(TurnPlace(debate, turn)), settle=settle)

    @router.post("/answer")
    async def answer(body: LabelBody) -> dict[str, Any]:
        place = check(TurnPlace(body.debate, body.turn))
        with _reported():
            session.answer(place, body.maxim, body.label, settle=body.settle)
        return {**answers_record(session, place), "state": state_record(session)}

    @router.post("/undo")
    async def undo(body: dict[str, Any]) -> dict[str, Any]:
        """Take back the last answer; null if there is none."""
        with _reported():
            return {"undone": session.undo()}

    app.include_router(router)
    return app


@asynccontextmanager
async def _writing(session: LabelSession) -> AsyncIterator[None]:
    """Write the labels file at most once a second, and at the end."""

    async def write() -> None:
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_WRITES)
            with suppress(OSError):  # it is tried again, and the log has all answers
                session.write()

    task = asyncio.create_task(write())
    try:
        yield
    finally:
        task.cancel()
        session.write()


@contextmanager
def _reported() -> Iterator[None]:
    """Let the page show why an event could not be written."""
    try:
        yield
    except OSError as error:
        raise HTTPException(507, f"the answer is not saved: {why(error)}") from None
    except FieldError as error:
        raise HTTPException(422, str(error)) from None
