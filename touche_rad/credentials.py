"""Who gets a key: a server gets one only if the user named it.

Keys and passwords come from the environment. A profile or a plan may be a stranger's, and so may
be the addresses in it. So the program reads the servers that the user names, in the words of the
command, in its `--config` and in variables, and another one is refused if a credential would go
there. Python code names its own servers, and all are trusted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from touche_rad.errors import UserError

EMPTY: Final = ("", "EMPTY")
"""Values of a variable without a key."""
_ADDRESS: Final = re.compile(
    r"https?://[\w.:\[\]%-]+|(?:irds|nli|vllm):(?!https?:)\w[\w./-]*", re.IGNORECASE
)
"""An address, or the name of a collection or model that is downloaded if it is not here."""
_PORTS: Final = {"http": 80, "https": 443}


class Server(NamedTuple):
    """A server as a client of HTTP reads its address, or what is downloaded from a hub."""

    scheme: str
    host: str
    """Of a hub, the name of the model or the collection."""
    port: int | None


Servers = frozenset[Server]

_trusted: Servers | None = None
"""The servers that get credentials in the command that runs; None: all."""


def servers_in(texts: Iterable[str]) -> Servers:
    """Return the servers that texts name, such as the words of a command."""
    return frozenset(filter(None, map(server_of, _ADDRESS.findall("\n".join(texts)))))


def trusted_servers() -> Servers | None:
    """Return the servers that get credentials, to hand them to another process; None: all."""
    return _trusted


@contextmanager
def trusting(servers: Servers | None) -> Iterator[None]:
    """Give credentials to these servers only; None: to the same ones as before."""
    global _trusted
    before = _trusted
    if servers is not None:
        _trusted = servers
    try:
        yield
    finally:
        _trusted = before


def trust_all() -> None:
    """Let each server have credentials until the command ends: the user trusts a plan."""
    global _trusted
    _trusted = None


def refuse_stranger(variable: str, url: str) -> None:
    """Raise an error if a variable's credential would go to a server that only a file names."""
    if _trusted is None or os.environ.get(variable, "") in EMPTY:
        return
    if server_of(url) not in _trusted:
        raise UserError(
            f"only a file names {url}, which would get your {variable}: name it on the command "
            "line or in a variable (a plan: --trust)"
        )


def strangers_in(text: str) -> list[str]:
    """Return the addresses, and names of hubs, in a text that the user has not named, sorted."""
    if _trusted is None:
        return []
    return sorted(url for url in set(_ADDRESS.findall(text)) if server_of(url) not in _trusted)


def server_of(url: str) -> Server | None:
    """Return the server of an address; None if it has none, or one that is not read as a whole."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.netloc and _ADDRESS.fullmatch(url):
        return Server(parts.scheme, parts.path, None)
    if not parts.hostname or not _ADDRESS.fullmatch(f"{parts.scheme}://{parts.netloc}"):
        return None
    return Server(parts.scheme, parts.hostname, port)
