"""A connection to Elasticsearch: addresses, credentials, timeouts, retries and error messages."""

from __future__ import annotations

import itertools
import os
import random
import re
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from touche_rad.credentials import refuse_stranger, server_of
from touche_rad.errors import ToucheRadError, UserError, WorkError
from touche_rad.events import log
from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.text import excerpt

_NAME: Final = re.compile(r"(?![-_+.])[^\\/*?\"<>|,#:\s]+")

# Variables of the environment.
KEY: Final = "TOUCHE_RAD_ES_API_KEY"
USER: Final = "TOUCHE_RAD_ES_USER"
PASSWORD: Final = "TOUCHE_RAD_ES_PASSWORD"
CA: Final = "TOUCHE_RAD_ES_CA"
TIMEOUT: Final = "TOUCHE_RAD_ES_TIMEOUT"

SCHEME: Final = "elasticsearch:"
SECONDS: Final = 30.0
"""Default time of a call in seconds in which its tries begin."""
ONE_TRY: Final = 10.0
"""Maximum seconds of a try: then another node may answer."""
WRITING_TRY: Final = 60.0
"""Maximum seconds of a try that writes: a busy server needs long, and repeated work delays it."""

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 5.0
_TEMPORARY: Final = (408, 425, 429, 502, 503, 504)


@frozen
class IndexAddress:
    """The addresses of a server's nodes and the name of an index."""

    urls: tuple[str, ...]
    index: str

    def __str__(self) -> str:
        return f"{SCHEME}{','.join(self.urls)}/{self.index}"


def parse_location(location: str) -> IndexAddress:
    """Parse a location: elasticsearch:URL[,URL...]/INDEX, where a URL is an address of a node."""
    *others, last = re.split(r",(?=https?://)", location.removeprefix(SCHEME))
    last, _, index = last.rstrip("/").rpartition("/")
    try:
        urls = tuple(map(_address, (*others, last)))
        valid = bool(index)
    except ValueError:
        valid = False
    if not valid:
        raise UserError(
            f"expected {SCHEME}http(s)://HOST[:PORT][/PREFIX]/INDEX, or several addresses of a "
            f"cluster separated by commas, the last with /INDEX; got {location!r:.200}"
        )
    if not _NAME.fullmatch(index) or not index.isprintable() or index != index.lower():
        raise UserError(
            f"{index!r:.60} is not a valid index name: expected lower-case letters, digits, '-' "
            "and '_', starting with a letter or digit"
        )
    return IndexAddress(urls, index)


def _address(url: str) -> str:
    """Return a node's address with its port, as the client needs it; ValueError if it is none."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise UserError(
            f"a location must not contain a user or password: set {USER} and {PASSWORD}, or {KEY}"
        )
    server = server_of(url)
    if server is None or parts.query or parts.fragment:
        raise ValueError(url)
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"{parts.scheme}://{host}:{server.port}{parts.path.rstrip('/')}"


class Connection:
    """A server, asked with retries; if it has several nodes, a retry asks another one."""

    def __init__(self, location: str) -> None:
        self.where = parse_location(location)
        timeout = os.environ.get(TIMEOUT) or str(SECONDS)
        try:
            self._seconds = float(timeout)
        except ValueError:
            raise UserError(f"{TIMEOUT}: expected seconds, got {timeout!r:.40}") from None
        for variable, url in itertools.product((KEY, PASSWORD), self.where.urls):
            refuse_stranger(variable, url)
        try:
            from elasticsearch import Elasticsearch

            from retrieval.elastic._node import LimitedNode, StrictJson
        except ImportError:
            raise UserError(
                "an index on Elasticsearch needs the client: "
                "pip install 'touche-rad[elasticsearch]'"
            ) from None
        # The client's own retries do not wait, and do not see the errors of single searches.
        settings: dict[str, Any] = {
            "request_timeout": min(ONE_TRY, self._seconds),
            "max_retries": 0,
            "node_class": LimitedNode,
            "serializer": StrictJson(),
        }
        if key := os.environ.get(KEY):
            settings["api_key"] = key
        elif user := os.environ.get(USER):
            settings["basic_auth"] = (user, os.environ.get(PASSWORD, ""))
        if ca := os.environ.get(CA):
            settings["ca_certs"] = ca
        try:
            self._client: Any = Elasticsearch(list(self.where.urls), **settings)
        except (OSError, ValueError) as error:
            raise UserError(f"{self.where}: {excerpt(error, 200)} ({CA}={ca})") from None

    def close(self) -> None:
        """Close the connections to the servers."""
        self._client.close()

    def has_index(self) -> bool:
        """Whether the server has an index or alias of this name."""
        return self.ask(lambda es: bool(es.indices.exists(index=self.where.index)))

    def ask(self, call: Callable[[Any], T], one_try: float | None = None) -> T:
        """Make a call with the client; retry temporary errors, and raise others as one-line errors.

        A try takes at most `one_try` seconds (default: ONE_TRY).
        """
        client = self._client.options(request_timeout=one_try) if one_try else self._client
        from elastic_transport import TransportError
        from elasticsearch import ApiError

        end = time.monotonic() + self._seconds
        wait = FIRST_WAIT
        while True:
            try:
                return call(client)
            except (ApiError, TransportError) as error:
                fault, temporary = self._fault(error)
                pause = wait * random.uniform(0.5, 1.5)
                if not temporary or time.monotonic() + pause > end:
                    raise fault from None
                if wait == FIRST_WAIT:
                    log.warning("%s; trying again", fault)
            time.sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT)

    def _fault(self, error: Exception) -> tuple[ToucheRadError, bool]:
        """Return our error for a client's exception, and whether it may be temporary."""
        import elastic_transport
        import elasticsearch

        match error:
            case elastic_transport.TlsError():
                why = f"{excerpt(error.message, 200)} ({CA}={os.environ.get(CA, '')})"
                return UserError(f"{self.where}: no secure connection: {why}"), False
            case elastic_transport.ConnectionTimeout():
                return WorkError(f"{self.where}: no answer in time (set {TIMEOUT})"), True
            case elastic_transport.ConnectionError():
                return WorkError(f"{self.where}: the server cannot be reached"), True
            case elasticsearch.UnsupportedProductError():
                return UserError(f"{self.where}: the server is not Elasticsearch"), False
            case elasticsearch.ApiError():
                why = reason(error.body)
                # A node that has just died gives 502.
                status = 503 if "not connected" in why else error.meta.status
                index = self.where.index
                user = os.environ.get(USER) or "this key"
                messages = {
                    401: f"wrong user, password or key ({USER}, {PASSWORD}, {KEY})",
                    403: f"{user} has no permission to do this",
                    404: f"there is no index {index!r}",
                    413: "an argument is larger than the server allows (http.max_content_length)",
                    503: f"a shard of {index!r} is not available (red): see _cluster/health",
                }
                message = messages.get(status, f"error {status}: {why}")
                temporary = status in _TEMPORARY
                kind = WorkError if temporary or status >= 500 else UserError
                return kind(f"{self.where}: {message}"), temporary
        return WorkError(f"{self.where}: {excerpt(error, 200)}"), False


def reason(body: object) -> str:
    """Return why the server refused a request, from its answer."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        first = (error.get("root_cause") or [error])[0]
        error = first.get("reason") or error.get("type") or error
    return excerpt(error, 200)
