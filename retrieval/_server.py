"""Requests to a model on a server that is no chat model: an encoder, a reranker, a classifier.

They are made from plain code, which must not run on the event loop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from touche_rad import http, session
from touche_rad.calls import current_context
from touche_rad.credentials import refuse_stranger
from touche_rad.errors import UserError, WorkError
from touche_rad.text import KEY, redact

if TYPE_CHECKING:
    import httpx2

LONGEST: Final = 600
LONGEST_TEXT: Final = 1_200
"""Letters of a query and of a text that are sent, so that a model of 512 tokens reads both."""
_NO_ROUTE: Final = {404, 405, 501}


def is_address(name: str) -> bool:
    """Whether a model's name is an address, `URL#MODEL`."""
    return name.startswith(("http://", "https://"))


class Server:
    """A model at `URL#MODEL`; the URL may end with `/v1` or not."""

    def __init__(self, name: str, called: str, tries: int = 1) -> None:
        """`called` names the model in errors."""
        url, _, self._model = name.partition("#")
        self.place = url.rstrip("/")
        self._called = called
        if not http.valid_address(url) or not self._model:
            raise UserError(f"{called} {redact(name)!r}: expected http://HOST:PORT/v1#MODEL")
        refuse_stranger(KEY, url)
        self._policy = http.Policy(tries=tries)

    def find(self, routes: Mapping[str, Mapping[str, Any]]) -> str:
        """Return the first route that the server has, such as `/v1/rerank`.

        Each route is asked with a small request.
        """
        root = self.place.removesuffix("/v1")
        for route, body in routes.items():
            for at in dict.fromkeys((self.place, root, f"{root}/v1")):
                try:
                    self.post(f"{at}/{route}", body)
                except http.RequestError as error:
                    # Some servers answer 404, too, if they have no model of this name.
                    if error.status in _NO_ROUTE and "model" not in error.reason.lower():
                        continue
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
    ) -> list[Any]:
        """Return the rows of a reply in the order of the request.

        There must be `count` rows, and their field `numbers` must be finite.
        """
        answer = self.post(address, body)
        try:
            rows = sorted(answer[of], key=lambda row: int(row["index"]))
            finite = np.isfinite(np.array([row[numbers] for row in rows], dtype=float)).all()
        except (LookupError, TypeError, ValueError):
            finite, rows = False, []
        if not finite or len(rows) != count:
            raise WorkError(f"{address}: expected {count} rows with {numbers}")
        return rows

    def post(self, address: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON of the reply to a request; one for a turn gets half of its time left."""
        sent = {"model": self._model, **body}
        request = http.Request(address, "POST", address, sent, with_key=True)
        deadline, now = current_context().deadline, time.monotonic()
        end = math.inf if deadline is None else now + max(0.1, (deadline - now) / 2)
        return session.run(http.send, self._client, request, self._policy, end)

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        return http.open_client()
