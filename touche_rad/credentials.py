"""Who gets a key: an address gets one only if the user named it.

Keys and passwords come from the environment. A settings file in the current folder, a profile or a
plan may be a stranger's, and so may the addresses in it. So the program notes the servers that the
user named: in the words of the command, in variables, or in a file of `--config`. Any other server
is refused if a credential would go to it. Python code names its own servers: nothing is noted then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from touche_rad.errors import UserError

NAMED: Final = "TOUCHE_RAD_NAMED_SERVERS"
"""The servers that the user named: a variable, because the steps of a command and the workers of
Ray, which are processes of their own, inherit it."""
EMPTY: Final = ("", "EMPTY")
"""Values of a variable without a key."""
_SERVER: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s#?,()'\"\\]+", re.IGNORECASE)
_USUAL_PORT: Final = re.compile(r"(?<=^http:)(.*):80$|(?<=^https:)(.*):443$")
_PROFILE: Final = re.compile(r"profile=([^,()\s]+\.toml)")


@contextmanager
def named_by_user(words: Sequence[str]) -> Iterator[None]:
    """Note the servers in a command's words, in its profiles and in variables, until its end."""
    before = os.environ.pop(NAMED, None)
    profiles = [Path(name) for word in words for name in _PROFILE.findall(word)]
    variables = [
        value
        for name, value in os.environ.items()
        if name == "OPENAI_BASE_URL" or name.startswith("TOUCHE_RAD_")
    ]
    os.environ[NAMED] = ""
    add([*words, *variables, *(one.read_text("utf-8") for one in profiles if one.is_file())])
    try:
        yield
    finally:
        trust()
        if before is not None:
            os.environ[NAMED] = before


def add(texts: Iterable[str]) -> None:
    """Note the servers in these texts too, if servers are noted."""
    if NAMED in os.environ:
        servers = {_plain(server) for text in texts for server in _SERVER.findall(text)}
        os.environ[NAMED] = " ".join({*os.environ[NAMED].split(), *servers})


def trust() -> None:
    """Let each server have the credentials: the user trusts the file that names it."""
    os.environ.pop(NAMED, None)


def refuse_stranger(variable: str, url: str) -> None:
    """Raise an error if a variable's credential would go to a server that only a file names."""
    named, server = os.environ.get(NAMED), _SERVER.match(url)
    if named is None or os.environ.get(variable, "") in EMPTY:
        return
    if server is None or _plain(server[0]) not in named.split():
        raise UserError(
            f"only a file names {server[0] if server else url}, which would get your {variable}: "
            "name it on the command line or in a variable, or confirm the file (--config for "
            "settings, --trust for a plan)"
        )


def _plain(server: str) -> str:
    return _USUAL_PORT.sub(r"\1\2", server.lower())
