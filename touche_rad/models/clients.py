"""HTTP clients for many requests at a time."""

from __future__ import annotations

import functools
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from touche_rad.text import KEY

if TYPE_CHECKING:
    import httpx

_PER_CLIENT: Final = 8
"""Requests that a client sends at a time."""
_LONGEST_CONNECT: Final = 20.0
_NO_KEY: Final = "EMPTY"
"""The value of the variable for a server without keys."""


class Clients:
    """The HTTP clients of an event loop, each for a few requests at a time.

    A client looks at all its connections for each request, so one client for a thousand requests
    would take longer than the requests.
    """

    def __init__(self) -> None:
        self._all: list[httpx.AsyncClient] = []
        self._free: list[httpx.AsyncClient] = []
        """A client once for each request that it may still send."""

    @contextmanager
    def lent(self) -> Iterator[httpx.AsyncClient]:
        """Lend the client that was used last, whose connections are open."""
        if not self._free:
            self._all.append(_new_client())
            self._free += [self._all[-1]] * _PER_CLIENT
        client = self._free.pop()
        try:
            yield client
        finally:
            self._free.append(client)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._all:
            await client.aclose()


def _new_client() -> httpx.AsyncClient:
    """Make a client; the key is read now."""
    import httpx

    key = os.environ.get(KEY, "")
    headers = {"Authorization": f"Bearer {key}"} if key and key != _NO_KEY else {}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=_PER_CLIENT)
    timeout = httpx.Timeout(None, connect=_LONGEST_CONNECT)
    return httpx.AsyncClient(headers=headers, limits=limits, timeout=timeout, verify=certificates())


def certificates() -> ssl.SSLContext:
    """Return the certificates that this process trusts; all its clients share them."""
    return _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@functools.cache  # loading them takes 30 ms
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Load the certificates that these two environment variables name."""
    import httpx

    return httpx.create_ssl_context()
