"""Where a model is: `-m`, OpenAI-compatible endpoints, and pools of them."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

import anyio

from touche_rad.errors import UserError
from touche_rad.models.clients import Clients, Reply, TooLarge
from touche_rad.models.errors import (
    BadReply,
    BadRequest,
    Busy,
    ModelError,
    PromptTooLong,
    Timeout,
    Unauthorized,
    Unreachable,
    WrongModel,
)
from touche_rad.text import KEY, redact


class Backend(Protocol):
    """Something that runs a model; replies have the format of OpenAI's chat completions."""

    @property
    def model(self) -> str:
        """Name of the model; part of the cache key."""
        ...

    @property
    def place(self) -> str:
        """Where it is, to show to a user: an address without a key."""
        ...

    async def ready(self) -> float:
        """Wait until it is ready, and return the seconds that the start took."""
        ...

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Return the reply to a request within a time limit, or raise a ModelError."""
        ...

    async def context(self) -> int | None:
        """Return the context length in tokens, or None if it is unknown."""
        ...

    async def close(self) -> None:
        """Close connections and stop a server that was started."""
        ...


URL: Final = "OPENAI_BASE_URL"
MODEL: Final = "OPENAI_MODEL"
NONE: Final = "EMPTY"
"""Value of OPENAI_BASE_URL on TIRA if there is no endpoint."""
LARGEST: Final = 16 * 2**20
_OVERFLOW: Final = (
    "context length",
    "context window",
    "maximum context",
    "too long",
    "max_model_len",
    "max_tokens must be at least 1",
)
CHECK: Final = 2.4
"""Time limit in seconds of the check before a run."""
_CONNECT: Final = 2.0
_NO_MODEL: Final = ("does not exist", "not found", "unknown model", "no such model")


@dataclass(frozen=True)
class Address:
    """Address and model name of an endpoint."""

    url: str
    model: str

    @property
    def real(self) -> bool:
        """Whether there is an endpoint."""
        return self.url != NONE


def parse_address(given: str | None = None) -> Address:
    """Parse `URL#MODEL`; missing parts come from the environment."""
    url, _, model = (given or "").partition("#")
    url = url or os.environ.get(URL, "")
    model = model or os.environ.get(MODEL, "")
    if url == NONE:
        return Address(NONE, model)
    if not url:
        raise UserError(f"no model: pass -m http://HOST:PORT/v1#MODEL or set {URL} and {MODEL}")
    if not url.startswith(("http://", "https://")):
        rest = url.partition("://")[2].lstrip("/") or url.lstrip("/")
        raise UserError(
            f"-m {redact(url)}: expected an address that begins with http:// or https://, such as "
            f"-m http://{redact(rest)}#{model or 'MODEL'}"
        )
    if "@" in url.split("/")[2]:
        raise UserError(f"-m: the address contains a user name or password; set {KEY} instead")
    if not model:
        raise UserError(f"no model name: pass -m {url}#MODEL or set {MODEL}")
    return Address(url.rstrip("/"), model)


# httpx and not openai.AsyncOpenAI: an adapter for it (openai 3.54) passed the same fault tests but
# saved ten lines, took 3 s more to import, and cannot limit the size of a reply.
class Endpoint:
    """A server with the OpenAI chat completions API."""

    def __init__(self, at: Address) -> None:
        self.at = at
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Clients]
        self._clients = WeakKeyDictionary()

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.at.model

    @property
    def place(self) -> str:
        """The address without its query, which may contain a key."""
        return self.at.url.partition("?")[0]

    async def ready(self) -> float:
        """Make the client, which may load certificates; the server is not ours."""
        begun = time.monotonic()
        self._client().prepare(self.at.url)
        return time.monotonic() - begun

    def _client(self) -> Clients:
        """Return the connections of this event loop."""
        loop = asyncio.get_running_loop()
        found = self._clients.get(loop)
        if found is None:
            found = self._clients[loop] = Clients()
        return found

    def __repr__(self) -> str:
        return f"Endpoint({self.at.url!r}, {self.at.model!r})"

    async def close(self) -> None:
        """Close this loop's connections."""
        clients = self._clients.pop(asyncio.get_running_loop(), None)
        if clients is not None:
            await clients.close()

    async def context(self) -> int | None:
        """Return the context length in tokens, if the server reports it."""
        found = await self.models()
        for one in found:
            if one.get("id") == self.at.model and isinstance(one.get("max_model_len"), int):
                return int(one["max_model_len"])
        return None

    async def models(self, seconds: float = 10.0) -> list[Mapping[str, Any]]:
        """Return the server's list of models.

        Raises:
            ModelError: The class says what happened.
        """
        try:
            with anyio.fail_after(seconds):
                reply = await self._client().send("GET", f"{self.at.url}/models")
            listed = reply.json().get("data", []) if reply.status == HTTPStatus.OK else []
        except TimeoutError:
            raise Timeout(f"{self.place}: no answer within {seconds:.3g} s") from None
        except OSError as error:
            raise Unreachable(f"{self.place}: {' '.join(str(error).split())[:200]}") from None
        except (ValueError, AttributeError, RecursionError, TooLarge):
            raise BadReply(f"{self.place}: the reply to /models is not JSON") from None
        return [one for one in listed if isinstance(one, dict)]

    async def check(self) -> list[str]:
        """Check that the server can be reached and has the model; return warnings.

        A server that has no list of models, or that answers slowly, is accepted.

        Raises:
            Unreachable: There is no connection.
            Unauthorized: The server does not accept the API key.
            WrongModel: The server has no such model, or no API at this address.
        """
        try:
            with anyio.fail_after(CHECK):
                await self._check_list()
        except (TimeoutError, TooLarge):  # connected, and slow
            return []
        except OSError as error:
            from touche_rad.models import hints

            raise Unreachable(hints.unreachable(self.place, error)) from None
        return []

    async def _check_list(self) -> None:
        reply = await self._get("/models")
        if reply.status == HTTPStatus.UNAUTHORIZED:
            raise Unauthorized(f"{self.place}: the API key is not accepted; set {KEY}")
        names = _names(reply)
        if (
            not names
            and reply.status == HTTPStatus.NOT_FOUND
            and _names(await self._get("/v1/models"))
        ):
            from touche_rad.models import hints

            raise WrongModel(hints.wrong_path(self.place, f"{self.place}/v1", self.at.model))
        if names and self.at.model not in names:
            await self._check_name(names)

    async def _check_name(self, names: Sequence[str]) -> None:
        """Ask for one token: some servers accept names that they do not list."""
        message = {"role": "user", "content": "Hello"}
        asked = {"model": self.at.model, "messages": [message], "max_tokens": 1}
        try:
            await self._complete(json.dumps(asked).encode("ascii"))
        except WrongModel:
            from touche_rad.models import hints

            line = hints.unknown_model(self.place, self.at.model, names)
            raise WrongModel(line) from None
        except ModelError:
            return

    async def _get(self, path: str) -> Reply:
        return await self._client().send("GET", f"{self.at.url}{path}", connect=_CONNECT)

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send a request and return the reply.

        Raises:
            ModelError: The class says what happened.
        """
        sent = json.dumps(body).encode("ascii")
        try:
            with anyio.fail_after(seconds):
                return await self._complete(sent)
        except TimeoutError:
            raise Timeout(f"{self.place}: no answer within {seconds:.3g} s") from None
        except OSError as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise Unreachable(f"{self.place}: {reason[:200]}") from None

    async def _complete(self, sent: bytes) -> Mapping[str, Any]:
        try:
            reply = await self._client().send(
                "POST", f"{self.at.url}/chat/completions", sent, largest=LARGEST
            )
        except TooLarge:
            raise BadReply(f"{self.place}: the answer is larger than {LARGEST} bytes") from None
        if reply.status != HTTPStatus.OK:
            raise self._fault(reply)
        return self._read(reply.content)

    def _read(self, held: bytes) -> Mapping[str, Any]:
        try:
            value = json.loads(held)
        except (ValueError, RecursionError):
            raise BadReply(f"{self.place}: expected JSON, got {held[:60]!r}") from None
        if not isinstance(value, dict):
            raise BadReply(f"{self.place}: expected an object, got {type(value).__name__}")
        if "error" in value and "choices" not in value:
            raise BadReply(f"{self.place}: {_reason(value)}")
        return value

    def _fault(self, reply: Reply) -> ModelError:
        status = reply.status
        try:
            reason = _reason(reply.json())
        except (ValueError, RecursionError):
            reason = ""
        message = f"{self.place}: {status}{f': {reason}' if reason else ''}"
        low = reason.lower()
        if status in (401, 403):
            return Unauthorized(f"{self.place}: the API key is not accepted; set {KEY}")
        if status == 404 or (status == 400 and any(word in low for word in _NO_MODEL)):
            return WrongModel(f"{self.place}: there is no model {self.at.model!r}")
        if status in (400, 413, 422) and any(word in low for word in _OVERFLOW):
            return PromptTooLong(message)
        if status in (408, 409, 425, 429) or status >= 500:
            return Busy(message, after=_after(reply), is_down=status >= 500)
        return BadRequest(message)


def _names(reply: Reply) -> list[str]:
    """Return the names in a list of models; none if the reply is something else."""
    try:
        listed = reply.json()["data"] if reply.status == HTTPStatus.OK else []
        return [str(one["id"]) for one in listed]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []


def _reason(value: Any) -> str:
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return redact(" ".join(str(error).split()))[:200]


def _after(reply: Reply) -> float | None:
    """Return the seconds of Retry-After; a date is ignored."""
    try:
        seconds = float(reply.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 3600 else None
