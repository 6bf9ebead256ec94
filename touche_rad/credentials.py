"""Who gets a key: an address gets one only if the user named it.

Keys and passwords come from the environment. A settings file in the current folder, a profile or a
plan may be a stranger's, and so may the addresses in it. So the program notes what the user typed,
and a server that is neither there nor in a variable is refused if a credential would go to it.
Python code names its own servers: nothing is noted then.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from touche_rad.errors import UserError

NAMED: Final = "TOUCHE_RAD_NAMED"
"""The words of the command and the texts of its `--config`. A variable, because the steps of a
command and the workers of Ray, which are processes of their own, inherit it."""
EMPTY: Final = ("", "EMPTY")
"""Values of a variable without a key."""
_SERVER: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s#?,()'\"\\]+", re.IGNORECASE)
_USUAL_PORT: Final = re.compile(r"(?<=^http:)(.*):80$|(?<=^https:)(.*):443$")
_PROFILE: Final = re.compile(r"profile=([^,()\s]+\.toml)")


def trust() -> None:
    """Let each server have the credentials: the user trusts the file that names it."""
    os.environ.pop(NAMED, None)


def refuse_stranger(variable: str, url: str) -> None:
    """Raise an error if a variable's credential would go to a server that only a file names."""
    typed = os.environ.get(NAMED)
    if typed is None or os.environ.get(variable, "") in EMPTY:
        return
    of_user = [value for name, value in os.environ.items() if name.startswith("TOUCHE_RAD_")]
    profiles = [Path(name) for name in _PROFILE.findall(typed)]
    texts = [url, os.environ.get("OPENAI_BASE_URL", ""), *of_user]
    texts += [one.read_text("utf-8") for one in profiles if one.is_file()]
    (server, *_), *known = (
        [_USUAL_PORT.sub(r"\1\2", one.lower()) for one in _SERVER.findall(text)] or [""]
        for text in texts
    )
    if not any(server in one for one in known):
        raise UserError(
            f"only a file names {server or url}, which would get your {variable}: name it on the "
            "command line or in a variable, or confirm the file (--config for settings, --trust "
            "for a plan)"
        )
