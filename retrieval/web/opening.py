"""Which search of the web the user named, if any."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from retrieval.web.folder import Folder
from retrieval.web.search import WebSearch
from retrieval.web.searxng import SearXNG

VARIABLE: Final = "TOUCHE_RAD_WEB"
OFF: Final = "off"


def web_search(said: str = "") -> WebSearch | None:
    """Return the search that is named, else the environment's, else none.

    Args:
        said: A SearXNG server's address, a folder of texts, or `off`, whatever the environment
            says.

    Raises:
        UserError: There is no such folder, or it is no address.
    """
    named = said.strip() or os.environ.get(VARIABLE, "").strip()
    if not named or named == OFF:
        return None
    address = named.removeprefix("searxng:")
    if address.startswith(("http://", "https://")) or named != address:
        return SearXNG(address)
    return Folder(Path(named.removeprefix("folder:")).expanduser())
