"""Requests to a model on a server that is no chat model: an encoder, a reranker, a classifier.

They are made from plain code, which must not run on the event loop.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retrieval._arrays import Array
from touche_rad import http, session
from touche_rad.calls import current_context
from touche_rad.credentials import refuse_stranger
from touche_rad.errors import UserError, WorkError
from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.text import KEY, redact

if TYPE_CHECKING:
    import httpx2


LONGEST: Final = 600
LONGEST_TEXT: Final = 1_200
"""Letters of a query and of a text that are sent, so that a model of 512 tokens reads both."""
LARGEST: Final = 1e15
"""The most that a number of a model may be: squares of such numbers can be added up."""
_NO_ROUTE: Final = {404, 405, 501}


def is_address(name: str) -> bool:
    """Whether a model's name is an address, `URL#MODEL`."""
    return name.startswith(("http://", "https://"))


@frozen
class Connections:
    """Connections to servers, which are opened with the first request; threads share them."""

    open_client: Callable[[], httpx2.AsyncClient] = http.open_client
    _clients: dict[int, httpx2.AsyncClient] = field(default_factory=dict)
    """By the process: a forked one has an event loop of its own."""

    def run(self, send: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Return the result of a coroutine function that gets the client, then these arguments."""
        client = self._clients.get(os.getpid())
        if not client:
            # Of two threads that open one, the first keeps it.
            client = self._clients.setdefault(os.getpid(), self.open_client())
        return session.run(send, client, *args)

    def close(self) -> None:
        """Close all connections; a later request opens new ones."""
        client = self._clients.pop(os.getpid(), None)
        if client:
            session.run(client.aclose)


_connections: Final = Connections()
close_connections: Final = _connections.close
"""Closes the connections to all servers of models."""


class ModelServer:
    """A model at `URL#MODEL`; the URL may end with `/v1` or not."""

    def __init__(self, name: str, label: str, tries: int = 1) -> None:
        """`label` says in errors what the model is."""
        url, _, self._model = name.partition("#")
        self.place = url.rstrip("/")
        self._label = label
        if not http.valid_address(url) or not self._model:
            raise UserError(f"{label} {redact(name)!r}: expected http://HOST:PORT/v1#MODEL")
        refuse_stranger(KEY, url)
        self._policy = http.RequestPolicy(tries=tries)

    def find(self, routes: Mapping[str, Mapping[str, Any]]) -> str:
        """Return the first route that the server has, such as `/v1/rerank`.

        Each route is asked with a small request.
        """
        root = self.place.removesuffix("/v1")
        for route, body in routes.items():
            for base in dict.fromkeys((self.place, root, f"{root}/v1")):
                try:
                    self.post(f"{base}/{route}", body)
                except http.RequestError as error:
                    # Some servers answer 404, too, if they have no model of this name.
                    if error.status in _NO_ROUTE and "model" not in error.reason.lower():
                        continue
                    raise UserError(f"{self._label}: {error}") from None
                return f"{base}/{route}"
        names = " or ".join(f"/{route}" for route in routes)
        raise UserError(
            f"{self._label}: {self.place} has no route {names}: start a server with such a model "
            f"(vllm serve {self._model})"
        )

    def rows(
        self,
        address: str,
        body: Mapping[str, Any],
        count: int,
        numbers: str,
        *,
        rows_field: str = "data",
        row_shape: tuple[int, ...] | None = (),
        least: float = -LARGEST,
        most: float = LARGEST,
    ) -> tuple[list[Any], Array]:
        """Return the rows of a reply in the order of the request, and their numbers.

        There must be `count` rows. Their field `numbers` has this shape (None: lists of one length)
        and values from `least` to `most`.
        """
        reply = self.post(address, body)
        with suppress(ArithmeticError, LookupError, TypeError, ValueError):
            rows = sorted(reply[rows_field], key=lambda row: row["index"])
            values = np.array([row[numbers] for row in rows], dtype=float)
            is_shaped = values.ndim == 2 if row_shape is None else values.shape[1:] == row_shape
            # Not true of nan, nor of rows without numbers.
            is_within = least <= values.min() and values.max() <= most
            if [row["index"] for row in rows] == [*range(count)] and is_shaped and is_within:
                return rows, values
        raise WorkError(f"{address}: expected {count} rows with {numbers}")

    def post(self, address: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON of the reply to a request; one for a turn gets half of its time left."""
        content = {"model": self._model, **body}
        request = http.Request(address, "POST", address, content, with_key=True)
        end = math.inf
        deadline = current_context().deadline
        if deadline is not None:
            now = time.monotonic()
            end = now + max(0.1, (deadline - now) / 2)
        return _connections.run(http.send, request, self._policy, end)
