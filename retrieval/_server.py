"""Requests to a model on a server that is no chat model: an encoder, a reranker, a classifier."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Mapping
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from touche_rad.calls import current_context
from touche_rad.credentials import EMPTY, refuse_stranger
from touche_rad.errors import UserError, WorkError
from touche_rad.models.endpoint import reason_of
from touche_rad.text import KEY, redact

if TYPE_CHECKING:
    import httpx2

SECONDS: Final = 60.0
"""Time limit of a request; one that is made for a turn gets at most half of the turn's time."""
LONGEST: Final = 600
LONGEST_TEXT: Final = 1_200
"""Letters of a query and of a text that are sent, so that a model of 512 tokens reads both."""
_LATER: Final = {408, 425, 429, 500, 502, 503, 504, 524}
_NO_ROUTE: Final = {404, 405, 501}


class _NoRoute(WorkError):
    """The server does not have this route."""


def is_address(name: str) -> bool:
    """Whether a model's name is an address, `URL#MODEL`."""
    return name.startswith(("http://", "https://"))


class Server:
    """A model at `URL#MODEL`; the URL may end with `/v1` or not."""

    def __init__(self, name: str, called: str) -> None:
        """`called` names the model in errors."""
        url, _, self._model = name.partition("#")
        self.place = url.rstrip("/")
        self._called = called
        if not is_address(url) or not self._model or "@" in url:
            raise UserError(f"{called} {redact(name)!r}: expected http://HOST:PORT/v1#MODEL")
        refuse_stranger(KEY, url)

    def find(self, routes: Mapping[str, Mapping[str, Any]]) -> str:
        """Return the first route that the server has, such as `/v1/rerank`.

        Each route is asked with a small request.
        """
        root = self.place.removesuffix("/v1")
        for route, body in routes.items():
            for at in dict.fromkeys((self.place, root, f"{root}/v1")):
                try:
                    self.post(f"{at}/{route}", body)
                except _NoRoute:
                    continue
                except WorkError as error:
                    raise UserError(f"{self._called}: {error}") from None
                return f"{at}/{route}"
        names = " or ".join(f"/{route}" for route in routes)
        raise UserError(
            f"{self._called}: {self.place} has no route {names}: start a server with such a model "
            f"(vllm serve {self._model})"
        )

    def rows(
        self,
        address: str,
        body: Mapping[str, Any],
        count: int,
        numbers: str,
        *,
        of: str = "data",
        tries: int = 1,
    ) -> list[Any]:
        """Return the rows of a reply in the order of the request.

        There must be `count` rows, and their field `numbers` must be finite.
        """
        answer = self.post(address, body, tries)
        try:
            rows = sorted(answer[of], key=lambda row: int(row["index"]))
            finite = np.isfinite(np.array([row[numbers] for row in rows], dtype=float)).all()
        except (LookupError, TypeError, ValueError):
            finite, rows = False, []
        if not finite or len(rows) != count:
            raise WorkError(f"{address}: expected {count} rows with {numbers}")
        return rows

    def post(self, address: str, body: Mapping[str, Any], tries: int = 1) -> Any:
        """Return the reply to a request, or raise a WorkError that says what happened."""
        import httpx2

        content = json.dumps({"model": self._model, **body}).encode("ascii")
        headers = {"Content-Type": "application/json"}
        if (key := os.environ.get(KEY, "")) not in EMPTY:
            headers["Authorization"] = f"Bearer {key}"
        for left in reversed(range(tries)):
            try:
                reply = self._client.post(
                    address, content=content, headers=headers, timeout=_seconds()
                )
                if reply.status_code == HTTPStatus.OK:
                    return reply.json()
                if reply.status_code not in _LATER or not left:
                    raise _error(address, reply)
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
                if not left:
                    raise WorkError(f"{address}: {error or type(error).__name__}") from None
            time.sleep(min(8.0, 0.25 * 2 ** (tries - 1 - left)) * random.uniform(0.5, 1.0))
        raise AssertionError("the last try returns or raises")

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2

        return httpx2.Client()


def _seconds() -> float:
    end = current_context().deadline
    return SECONDS if end is None else min(SECONDS, max(0.1, (end - time.monotonic()) / 2))


def _error(address: str, reply: httpx2.Response) -> WorkError:
    """Return the error of a reply; a 404 that names a model is about the model."""
    try:
        why = reason_of(reply.json())
    except ValueError:
        why = ""
    missing = reply.status_code in _NO_ROUTE and "model" not in why.lower()
    return (_NoRoute if missing else WorkError)(f"{address} answered {reply.status_code}: {why}")
