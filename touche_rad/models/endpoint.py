"""Where a model is: `-m`; a server with the OpenAI chat completions API; and the HTTP client.

httpx2 is imported with the first request, because that takes 0.1 s.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

import anyio

from touche_rad.credentials import EMPTY, refuse_stranger
from touche_rad.errors import UserError
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
from touche_rad.text import KEY, excerpt, load_json, redact

if TYPE_CHECKING:
    import httpx2

CONNECT: Final = 20.0
"""Seconds in which a connection must be made."""
LARGEST: Final = 16 * 2**20
"""Maximum bytes of a reply."""


@dataclass(frozen=True)
class Reply:
    """The reply to a request; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        """Return the content as JSON values; raise ValueError if it is none."""
        return load_json(self.content)

    @property
    def retry_after(self) -> float | None:
        """Seconds of Retry-After; None without it, or if it is a date."""
        try:
            seconds = float(self.headers.get("retry-after", ""))
        except ValueError:
            return None
        return seconds if 0 <= seconds < 3600 else None


class NoReply(OSError):
    """The server cannot be reached, or the connection broke before the reply was complete."""


class TooLarge(Exception):
    """The reply is larger than allowed."""


@dataclass
class Client:
    """Sends requests and keeps connections open for the next ones; redirects are not followed.

    The caller limits the time and the number of parallel requests.
    """

    _certificates: ClassVar[ssl.SSLContext | None] = None
    """Of the CAs; loaded once in a process, because that takes 0.1 s."""
    _client: httpx2.AsyncClient | None = None
    """Made by the first request; it belongs to the event loop of that request."""

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def prepare(self) -> httpx2.AsyncClient:
        """Return the client; the first one of the process loads certificates."""
        if self._client is None:
            import httpx2

            Client._certificates = Client._certificates or httpx2.create_ssl_context()
            self._client = httpx2.AsyncClient(
                verify=Client._certificates,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
                headers={"Accept-Encoding": "identity", "User-Agent": "touche-rad"},
            )
        return self._client

    async def send(
        self,
        method: str,
        url: str,
        content: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        connect: float = CONNECT,
        largest: int = LARGEST,
    ) -> Reply:
        """Send a request and return the reply.

        Raises:
            NoReply: There is no connection, or it ended before the reply was complete.
            TooLarge: The reply is larger than `largest`.
        """
        import httpx2

        client, received = self.prepare(), bytearray()
        kind = {"Content-Type": "application/json"} if content else {}
        try:
            async with client.stream(
                method,
                url,
                content=content,
                headers={**kind, **(headers or {})},
                params=params,
                timeout=httpx2.Timeout(None, connect=connect),
            ) as reply:
                async for part in reply.aiter_bytes():
                    received += part
                    if len(received) > largest:
                        raise TooLarge
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
            raise NoReply(_why(error)) from error
        return Reply(reply.status_code, dict(reply.headers), bytes(received))

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _why(error: Exception) -> str:
    reason = excerpt(error, 200) or type(error).__name__
    return "connection refused" if "connection attempts failed" in reason else reason


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

    async def context(self) -> int | None:
        """Return the context length in tokens, or None if it is unknown."""
        return None

    async def close(self) -> None:
        """Close connections and stop a server that was started."""


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
CHECK: Final = 2.4
"""Time limit in seconds of the check before a run."""
_CONNECT: Final = 2.0
_MOST_NAMES: Final = 5
_NO_MODEL: Final = ("does not exist", "not found", "unknown model", "no such model")


@dataclass(frozen=True)
class Address:
    """Address and model name of an endpoint."""

    url: str
    model: str


def parse_address(text: str | None = None) -> Address:
    """Parse `URL#MODEL`; missing parts come from the environment."""
    url, _, model = (text or "").partition("#")
    url = url or os.environ.get(URL, "")
    model = model or os.environ.get(MODEL, "")
    if url == NONE:
        return Address(NONE, model)
    if not url:
        raise UserError(f"no model: pass -m http://HOST:PORT/v1#MODEL or set {URL} and {MODEL}")
    if not url.startswith(("http://", "https://")):
        rest = url.partition("://")[2].lstrip("/") or url.lstrip("/")
        is_set = url in os.environ.get(URL, "").split(",")
        who, name = (f"{URL}=", "") if is_set else ("-m ", f"#{model or 'MODEL'}")
        raise UserError(
            f"{who}{redact(url)}: expected an address that begins with http:// or https://, such "
            f"as {who}http://{redact(rest)}{name}"
        )
    if "@" in url.split("/")[2]:
        raise UserError(f"-m: the address contains a user name or password; set {KEY} instead")
    try:
        _ = urlsplit(url).port
    except ValueError as error:
        raise UserError(f"-m {redact(url)}: {error}") from None
    if not model:
        raise UserError(
            f"no model name: pass -m {url}#MODEL or set {MODEL}; to use no model, unset {URL}"
        )
    return Address(url.rstrip("/"), model)


class Endpoint(Backend):
    """A server with the OpenAI chat completions API."""

    def __init__(self, at: Address, *, is_ours: bool = False) -> None:
        """`is_ours`: a server that this process started, which needs no key."""
        if not is_ours:
            refuse_stranger(KEY, at.url)
        self._is_ours = is_ours
        self._url, self.model = at.url, at.model
        self.place = at.url.partition("?")[0]  # the query may contain a key
        self._client = Client()

    async def ready(self) -> None:
        """Make the client, whose start is not the server's time; the server itself is not ours."""
        self._client.prepare()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send a request and return the reply, or raise a ModelError that says what happened."""
        content = json.dumps(body).encode("ascii")
        try:
            with anyio.fail_after(seconds):
                reply = await self._send("POST", "/chat/completions", content)
        except TimeoutError:
            raise Timeout(f"{self.place}: no answer within {seconds:.3g} s") from None
        except NoReply as error:
            raise Unreachable(f"{self.place}: {error}") from None
        except TooLarge:
            raise BadReply(f"{self.place}: the answer is larger than {LARGEST} bytes") from None
        if reply.status != HTTPStatus.OK:
            raise self._error(reply)
        try:
            value = reply.json()
        except ValueError:
            text = reply.content.decode("utf-8", "replace")
            wrong = f"{self.place}: expected JSON, got {excerpt(text, 60)!r}"
            raise BadReply(wrong, fix="check the address") from None
        if not isinstance(value, dict):
            raise BadReply(f"{self.place}: expected an object, got {type(value).__name__}")
        if "error" in value and "choices" not in value:
            raise BadReply(f"{self.place}: {reason_of(value)}")
        return value

    async def context(self) -> int | None:
        """Return the context length in tokens, if the server reports it."""
        try:
            with anyio.fail_after(10.0):
                models = _models(await self._send("GET", "/models"))
        except (TimeoutError, NoReply, TooLarge) as error:
            raise Unreachable(f"{self.place}: {error}") from None
        for model in models:
            if model.get("id") == self.model and isinstance(model.get("max_model_len"), int):
                return int(model["max_model_len"])
        return None

    async def check(self) -> None:
        """Check that the server can be reached and has the model.

        A server that has no list of models, or that answers slowly, is accepted.
        """
        try:
            with anyio.fail_after(CHECK):
                reply = await self._send("GET", "/models", connect=_CONNECT)
                names = [str(model.get("id")) for model in _models(reply)]
                if reply.status == HTTPStatus.UNAUTHORIZED:
                    raise self._error(reply)
                if reply.status == HTTPStatus.NOT_FOUND:
                    if _models(await self._send("GET", "/v1/models", connect=_CONNECT)):
                        fix = f"did you mean -m '{self.place}/v1#{self.model}'?"
                        raise WrongModel(f"{self.place}: no API there", fix=fix)
                elif names and self.model not in names:
                    await self._check_name(names)
        except (TimeoutError, TooLarge):  # connected, and slow
            return
        except NoReply as error:
            fix = "start the server, or pass another address (-m http://HOST:PORT/v1#MODEL)"
            raise Unreachable(f"{self.place}: {error}", fix=fix) from None

    async def _check_name(self, names: Sequence[str]) -> None:
        """Ask for one token: some servers accept names that they do not list."""
        message = {"role": "user", "content": "Hello"}
        probe = {"model": self.model, "messages": [message], "max_tokens": 1}
        try:
            await self.complete(probe, CHECK)
        except WrongModel as error:
            offers = ", ".join(names[:_MOST_NAMES])
            raise WrongModel(error.what, fix=f"{error.fix}; it offers {offers}") from None
        except ModelError:
            return

    async def _send(
        self, method: str, path: str, content: bytes = b"", connect: float = CONNECT
    ) -> Reply:
        """Send a request with the key, which is read now and goes to no other address."""
        headers, key = {}, os.environ.get(KEY, "")
        if key not in EMPTY and not self._is_ours:
            if not (key.isascii() and key.isprintable()) or key != key.strip():
                raise NoReply(f"{KEY} contains a character that HTTP does not allow")
            headers["Authorization"] = f"Bearer {key}"
        url = f"{self._url}{path}"
        return await self._client.send(method, url, content, headers=headers, connect=connect)

    def _error(self, reply: Reply) -> ModelError:
        status = reply.status
        try:
            reason = reason_of(reply.json())
        except ValueError:
            reason = ""
        message = f"{self.place}: {status}{f': {reason}' if reason else ''}"
        low = reason.lower()
        if status in (401, 403):
            return Unauthorized(f"{message}; the API key is not accepted", fix=f"set {KEY}")
        if status == 404 or (status == 400 and any(word in low for word in _NO_MODEL)):
            return WrongModel(f"{message}; no model {self.model!r}", fix="pass another URL#MODEL")
        if status in (400, 413, 422) and any(word in low for word in _OVERFLOW):
            return PromptTooLong(message)
        if status in (408, 409, 425, 429) or status >= 500:
            return Busy(message, status=status, retry_after=reply.retry_after)
        return BadRequest(message)


def _models(reply: Reply) -> list[Mapping[str, Any]]:
    """Return a list of models; empty if the reply is something else."""
    try:
        models = reply.json()["data"] if reply.status == HTTPStatus.OK else []
        return [model for model in models if isinstance(model, dict)]
    except (ValueError, LookupError, TypeError):
        return []


def reason_of(value: Any) -> str:
    """Return the reason that a server's reply gives for an error."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return excerpt(error, 200)
