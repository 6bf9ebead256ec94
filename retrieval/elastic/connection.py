"""A connection to Elasticsearch: addresses, credentials, timeouts, retries and error messages."""

from __future__ import annotations

import logging
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from touche_rad.errors import ToucheRadError, UserError, WorkError

LONGEST_ID: Final = 512
_FORBIDDEN: Final = frozenset('\\/*?"<>|,#: ')


def check_name(name: str) -> None:
    """Reject patterns, lists, and names that the server forbids."""
    if (
        not name.isprintable()
        or not _FORBIDDEN.isdisjoint(name)
        or name != name.lower()
        or name[0] in "-_+."
    ):
        shown = repr(name if len(name) <= 40 else name[:40] + "…")
        raise UserError(
            f"{shown} is not a valid index name: expected lower-case letters, digits, '-' and '_', "
            "starting with a letter or digit"
        )


def may_be_id(name: str) -> bool:
    """Whether a document can have this id."""
    return 0 < len(name.encode()) <= LONGEST_ID


def check_id(name: str) -> None:
    """Reject an id that a document cannot have."""
    size = len(name.encode())
    if not name:
        raise UserError(
            f"an argument has no id: Elasticsearch needs ids of 1 to {LONGEST_ID} bytes"
        )
    if size > LONGEST_ID:
        raise UserError(
            f"the id {name[:40] + '…'!r} has {size} bytes: Elasticsearch allows 1 to {LONGEST_ID}"
        )


KEY: Final = "TOUCHE_RAD_ES_API_KEY"
USER: Final = "TOUCHE_RAD_ES_USER"
PASSWORD: Final = "TOUCHE_RAD_ES_PASSWORD"
CA: Final = "TOUCHE_RAD_ES_CA"
TIMEOUT: Final = "TOUCHE_RAD_ES_TIMEOUT"
CREDENTIALS: Final = (KEY, USER, PASSWORD, CA, TIMEOUT)
"""Variables of the environment that a connection reads."""

SCHEME: Final = "elasticsearch:"
SECONDS: Final = 30.0
"""Default timeout of a call in seconds, including retries."""
ONE_TRY: Final = 10.0
"""Maximum seconds of a try: then another node may answer."""
WRITING_TRY: Final = 60.0
"""Maximum seconds of a try that writes: a busy server needs long, and repeated work delays it."""
CONNECTIONS: Final = 64
"""Connections to a node: more than debaters search at a time. Threads that wait for a connection of
the client's pool get it in no order, so some would wait a hundred times as long as others."""
log = logging.getLogger("touche_rad")

FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
_LATER: Final = frozenset((408, 425, 429, 502, 503, 504))

T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """The addresses of a server's nodes and the name of an index."""

    urls: tuple[str, ...]
    index: str

    def __str__(self) -> str:
        return f"{SCHEME}{','.join(self.urls)}/{self.index}"


def place(location: str) -> Place:
    """Parse a location: elasticsearch:URL[,URL...]/INDEX, where a URL is an address of a node.

    Raises:
        UserError: An address or the name of the index is invalid.
    """
    *others, last = re.split(r",(?=https?://)", location.removeprefix(SCHEME))
    last, _, index = last.rstrip("/").rpartition("/")
    urls = tuple(_address(one, location) for one in (*others, last))
    if not index:
        raise _invalid_place(location)
    check_name(index)
    return Place(urls, index)


def _address(url: str, location: str) -> str:
    """Return a node's address with its port, as the client needs it."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        raise _invalid_place(location) from None
    if parts.username or parts.password or "@" in parts.netloc:
        raise UserError(
            f"a location must not contain a user or password: set {USER} and {PASSWORD}, or {KEY}"
        )
    if port is None or not parts.hostname or parts.query or parts.fragment:
        raise _invalid_place(location)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}"


def _invalid_place(location: str) -> UserError:
    return UserError(
        f"expected {SCHEME}http(s)://HOST[:PORT][/PREFIX]/INDEX, or several addresses of a cluster "
        f"separated by commas, the last with /INDEX; got {location!r:.200}"
    )


class Connection:
    """A server, asked with retries; if it has several nodes, a retry asks another one."""

    def __init__(self, where: Place) -> None:
        self.where = where
        self._seconds = _seconds()
        self._client: Any = _client(where, min(ONE_TRY, self._seconds))

    def __repr__(self) -> str:
        return f"Connection({str(self.where)!r})"

    def ask(self, call: Callable[[Any], T], one_try: float | None = None) -> T:
        """Make a call with the client; retry temporary errors, and raise others as one-line errors.

        The client's own retries do not wait, and do not see the errors of single searches.

        Args:
            call: Makes the call with the client that it gets.
            one_try: Maximum seconds of a try; by default ONE_TRY.

        Raises:
            UserError: The request, index, user, password or certificate is wrong.
            WorkError: The server cannot be reached, or fails.
        """
        client = self._client.options(request_timeout=one_try) if one_try else self._client
        end, wait = time.monotonic() + self._seconds, FIRST_WAIT
        while True:
            try:
                return call(client)
            except Exception as error:
                fault, temporary = self._fault(error)
                if fault is None:
                    raise
                pause = wait * random.uniform(0.5, 1.5)
                if not temporary or time.monotonic() + pause > end:
                    raise fault from None
                if wait == FIRST_WAIT:
                    log.warning("%s; trying again", fault)
            time.sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT)

    def _fault(self, error: Exception) -> tuple[ToucheRadError | None, bool]:
        """Return our error for a client's exception, and whether it may be temporary."""
        import elastic_transport
        import elasticsearch

        where = self.where
        if isinstance(error, elastic_transport.TlsError):
            reason = _short(str(error.message))
            own = os.environ.get(CA, "")
            return UserError(f"{where}: no secure connection: {reason} ({CA}={own})"), False
        if isinstance(error, elastic_transport.ConnectionTimeout):
            return WorkError(f"{where}: no answer in time (set {TIMEOUT})"), True
        if isinstance(error, elastic_transport.ConnectionError):
            return WorkError(f"{where}: the server cannot be reached"), True
        if isinstance(error, elasticsearch.UnsupportedProductError):
            return UserError(f"{where}: the server is not Elasticsearch"), False
        if isinstance(error, elasticsearch.ApiError):
            status = error.meta.status
            return self._refused(status, _reason(error)), status in _LATER
        if isinstance(error, elastic_transport.TransportError):
            return WorkError(f"{where}: {_short(str(error))}"), False
        if isinstance(error, KeyError):
            return WorkError(f"{where}: the answer has no field {error}"), False
        return None, False

    def _refused(self, status: int, reason: str) -> ToucheRadError:
        where = self.where
        if status == 401:
            return UserError(f"{where}: wrong user, password or key ({USER}, {PASSWORD}, {KEY})")
        if status == 403:
            return UserError(
                f"{where}: {os.environ.get(USER) or 'this key'} has no permission to do this"
            )
        if status == 404:
            return UserError(f"{where}: there is no index {where.index!r}")
        if status == 413:
            return UserError(
                f"{where}: an argument is larger than the server allows (http.max_content_length)"
            )
        if status == 503 or "not connected" in reason:  # 502 while a node has just died
            return WorkError(
                f"{where}: a shard of {where.index!r} is not available (red): see _cluster/health"
            )
        kind: type[ToucheRadError] = WorkError if status >= 500 or status in _LATER else UserError
        return kind(f"{where}: error {status}: {reason}")


def _seconds() -> float:
    given = os.environ.get(TIMEOUT, "")
    if not given:
        return SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UserError(f"{TIMEOUT}: expected seconds, got {given!r:.40}")
    return seconds


def _client(where: Place, seconds: float) -> Any:
    try:
        from elasticsearch import Elasticsearch
    except ImportError:
        raise UserError(
            "an index on Elasticsearch needs the client: pip install 'touche-rad[elasticsearch]'"
        ) from None
    settings: dict[str, Any] = {
        "request_timeout": seconds,
        "max_retries": 0,
        "connections_per_node": CONNECTIONS,
    }
    key, user, ca = os.environ.get(KEY), os.environ.get(USER), os.environ.get(CA)
    if key:
        settings["api_key"] = key
    elif user:
        settings["basic_auth"] = (user, os.environ.get(PASSWORD, ""))
    if ca:
        settings["ca_certs"] = ca
    try:
        return Elasticsearch(list(where.urls), **settings)
    except Exception as error:
        about_ca = f" ({CA}={ca})" if ca else ""
        raise UserError(f"{where}: {_short(str(error))}{about_ca}") from None


def _reason(error: Any) -> str:
    body = error.body
    if isinstance(body, dict):
        about = body.get("error", body)
        if isinstance(about, dict):
            causes = about.get("root_cause") or [about]
            about = {**about, **{key: one for key, one in causes[0].items() if one}}
            return _short(str(about.get("reason") or about.get("type") or about))
    return _short(str(body))


def _short(message: str) -> str:
    return " ".join(message.split())[:200]
