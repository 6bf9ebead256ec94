"""Who gets a key: an address gets one only if the user named it.

Keys and passwords come from the environment. A profile or a plan may be a stranger's, and so may
be the addresses in it. So the program notes what the user typed, and a server that is neither there
nor in a variable is refused if a credential would go to it. Python code names its own servers:
nothing is noted then.
"""

from __future__ import annotations

import os
import re
from typing import Final
from urllib.parse import urlsplit

from touche_rad.errors import UserError

NAMED: Final = "TOUCHE_RAD_NAMED"
"""The words of the command and the texts of its `--config`. A variable, because the steps of a
command and the workers of Ray, which are processes of their own, inherit it."""
EMPTY: Final = ("", "EMPTY")
"""Values of a variable without a key."""
_ADDRESS: Final = re.compile(r"https?://[\w.:\[\]%-]+", re.IGNORECASE)
_PORTS: Final = {"http": 80, "https": 443}


def trust() -> None:
    """Let each server have the credentials: the user trusts the file that names it."""
    os.environ.pop(NAMED, None)


def refuse_stranger(variable: str, url: str) -> None:
    """Raise an error if a variable's credential would go to a server that only a file names."""
    typed = os.environ.get(NAMED)
    if typed is None or os.environ.get(variable, "") in EMPTY:
        return
    variables = [value for name, value in os.environ.items() if name.startswith("TOUCHE_RAD_")]
    texts = [typed, os.environ.get("OPENAI_BASE_URL", ""), *variables]
    named = {_server(address) for text in texts for address in _ADDRESS.findall(text)}
    server = _server(url)
    if server is None or server not in named:
        raise UserError(
            f"only a file names {url}, which would get your {variable}: name it on the command "
            "line or in a variable (a plan: --trust)"
        )


def _server(url: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port of an address as the client reads them; None if it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or not _ADDRESS.fullmatch(f"{parts.scheme}://{parts.netloc}"):
        return None
    return parts.scheme, parts.hostname, port
