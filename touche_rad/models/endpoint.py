"""Where a model is: `-m`; and a server with the OpenAI chat completions API."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from touche_rad import http
from touche_rad.credentials import refuse_stranger
from touche_rad.errors import UserError
from touche_rad.frozen import frozen
from touche_rad.models.errors import (
    BadReply,
    ModelError,
    PromptTooLong,
    Unauthorized,
    Unreachable,
    WrongModel,
    model_error,
)
from touche_rad.text import KEY, redact

if TYPE_CHECKING:
    import httpx2


class Backend:
    """Something that runs a model; replies have the format of OpenAI's chat completions."""

    model: str
    """Name of the model; part of the cache key."""
    place: str
    """Where it is, to show to a user: an address without a key."""

    async def ready(self) -> None:
        """Wait until it is ready."""

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Return the reply to a request within a time limit, or raise a ModelError."""
        raise NotImplementedError

    async def complete_a_token(self, seconds: float) -> None:
        """Ask for one token, to see whether it completes anything."""
        message = {"role": "user", "content": "Hello"}
        await self.complete({"model": self.model, "messages": [message], "max_tokens": 1}, seconds)

    async def context(self) -> int | None:
        """Return the context length in tokens, or None if it is unknown."""
        return None

    async def close(self) -> None:
        """Close connections and stop a server that was started."""


def completion(
    text: str, prompt_tokens: int, completion_tokens: int, reason: str = "stop"
) -> dict[str, Any]:
    """Return the reply of a backend that is no server."""
    message = {"role": "assistant", "content": text}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens},
    }


URL: Final = "OPENAI_BASE_URL"
MODEL: Final = "OPENAI_MODEL"
NONE: Final = "EMPTY"
"""Value of OPENAI_BASE_URL on TIRA if there is no endpoint."""
_OVERFLOW: Final = (
    "context length",
    "context window",
    "maximum context",
    "too long",
    "max_model_len",
    "max_tokens must be at least 1",
)
_ONE_TRY: Final = http.RequestPolicy(seconds=math.inf)
"""Of a call, whose deadline is the limit of its time; `Sender` sends it again."""
_LIST: Final = http.RequestPolicy(seconds=10.0)
_CHECK: Final = http.RequestPolicy(seconds=2.4, connect=2.0)
"""Of the check before a run."""
_MOST_NAMES: Final = 5
_NO_MODEL: Final = ("does not exist", "not found", "unknown model", "no such model")


@frozen
class Address:
    """Address and model name of an endpoint."""

    url: str
    model: str


def parse_address(text: str | None) -> Address:
    """Parse `URL#MODEL`; missing parts come from the environment."""
    url, _, model = (text or "").partition("#")
    url = url or os.environ.get(URL, "")
    model = model or os.environ.get(MODEL, "")
    if url == NONE:
        return Address(NONE, model)
    if not url:
        raise UserError(f"no model: pass -m http://HOST:PORT/v1#MODEL or set {URL} and {MODEL}")
    if "," in url:
        raise UserError(f"-m {redact(url)}: expected one server; each --shard may have its own")
    if not url.startswith(("http://", "https://")):
        rest = url.partition("://")[2].lstrip("/") or url.lstrip("/")
        prefix = "-m "
        suffix = f"#{model or 'MODEL'}"
        if url == os.environ.get(URL):
            prefix = f"{URL}="
            suffix = ""
        raise UserError(
            f"{prefix}{redact(url)}: expected an address that begins with http:// or https://, "
            f"such as {prefix}http://{redact(rest)}{suffix}"
        )
    if not http.valid_address(url):
        raise UserError(
            f"-m {redact(url)}: expected http://HOST:PORT/v1 without a user name or password; "
            f"a key is set by {KEY}"
        )
    if not model:
        raise UserError(
            f"no model name: pass -m {url}#MODEL or set {MODEL}; to use no model, unset {URL}"
        )
    return Address(url.rstrip("/"), model)


class Endpoint(Backend):
    """A server with the OpenAI chat completions API."""

    def __init__(self, address: Address, *, is_ours: bool = False) -> None:
        """`is_ours`: a server that this process started, which needs no key."""
        if not is_ours:
            refuse_stranger(KEY, address.url)
        self._is_ours = is_ours
        self._url = address.url
        self.model = address.model
        self.place = address.url.partition("?")[0]  # the query may contain a key
        self._opened: httpx2.AsyncClient | None = None

    async def ready(self) -> None:
        """Make the client, whose start is not the server's time; the server itself is not ours."""
        self._client()

    def _client(self) -> httpx2.AsyncClient:
        if not self._opened:
            self._opened = http.open_client()
        return self._opened

    async def close(self) -> None:
        """Close the connections."""
        if self._opened:
            client = self._opened
            self._opened = None
            await client.aclose()

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send a request and return the reply, or raise a ModelError that says what happened."""
        request = self._request("POST", "/chat/completions", body)
        end = time.monotonic() + seconds
        try:
            value = await http.send(self._client(), request, _ONE_TRY, end=end)
        except http.RequestError as error:
            raise self._error(error) from None
        if not isinstance(value, dict):
            raise BadReply(f"{self.place}: expected an object, got {type(value).__name__}")
        if "error" in value and "choices" not in value:
            raise BadReply(f"{self.place}: {http.reason_of(value)}")
        return value

    async def context(self) -> int | None:
        """Return the context length in tokens, if the server reports it."""
        with suppress(http.RequestError):
            for model in await self._models("/models", _LIST):
                if model.get("id") == self.model and isinstance(model.get("max_model_len"), int):
                    return int(model["max_model_len"])
        return None

    async def check(self) -> None:
        """Check that the server can be reached and has the model.

        A server that has no list of models, or that answers slowly, is accepted.
        """
        try:
            models = await self._models("/models", _CHECK)
        except http.NoConnection as error:
            raise Unreachable(
                error.what,
                fix="start the server, or pass another address (-m http://HOST:PORT/v1#MODEL)",
            ) from None
        except http.RequestError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                raise self._error(error) from None
            models_below: list[Mapping[str, Any]] = []
            if error.status == HTTPStatus.NOT_FOUND:  # the API may be at /v1 of the address
                with suppress(http.RequestError):
                    models_below = await self._models("/v1/models", _CHECK)
            if models_below:
                raise WrongModel(
                    f"{self.place}: no API there",
                    fix=f"did you mean -m '{self.place}/v1#{self.model}'?",
                ) from None
            return
        names = [str(model.get("id")) for model in models]
        if not names or self.model in names:
            return
        # Some servers accept names that they do not list: ask for one token.
        try:
            await self.complete_a_token(_CHECK.seconds)
        except WrongModel as error:
            raise WrongModel(
                error.what, fix=f"{error.fix}; it offers {', '.join(names[:_MOST_NAMES])}"
            ) from None
        except ModelError:
            return

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> http.Request:
        url = f"{self._url}{path}"
        return http.Request(self.place, method, url, body, with_key=not self._is_ours)

    async def _models(self, path: str, policy: http.RequestPolicy) -> list[Mapping[str, Any]]:
        """Return a list of models; empty if the reply is something else."""
        value = await http.send(self._client(), self._request("GET", path), policy)
        models = value.get("data") if isinstance(value, dict) else None
        if not isinstance(models, list):
            return []
        return [model for model in models if isinstance(model, dict)]

    def _error(self, error: http.RequestError) -> ModelError:
        """Return the error of a request as that of this model."""
        status = error.status
        reason = error.reason.lower()
        if status in (401, 403):
            return Unauthorized(f"{error.what}; the API key is not accepted", fix=f"set {KEY}")
        if status == 404 or (status == 400 and any(word in reason for word in _NO_MODEL)):
            return WrongModel(
                f"{error.what}; no model {self.model!r}", fix="pass another URL#MODEL"
            )
        if status in (400, 413, 422) and any(word in reason for word in _OVERFLOW):
            return PromptTooLong(error.what)
        return model_error(error)
