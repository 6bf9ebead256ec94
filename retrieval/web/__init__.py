"""Web search, off by default: a SearXNG server or a folder of texts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from retrieval.web.folder import Folder
from retrieval.web.search import Page, SearchFailed, WebResults, WebSearch, search_all
from retrieval.web.searxng import SearXNG

VARIABLE: Final = "TOUCHE_RAD_WEB"


def web_search(source: str = "") -> WebSearch | None:
    """Return the web search that is named by the argument, else by the environment, else None.

    Args:
        source: The address of a SearXNG server, a folder of texts, or `off`, which overrides the
            environment.

    Raises:
        UserError: There is no such folder, or the address is invalid.
    """
    named = source.strip() or os.environ.get(VARIABLE, "").strip()
    if named in ("", "off"):
        return None
    address = named.removeprefix("searxng:")
    if address.startswith(("http://", "https://")) or named != address:
        return SearXNG(address)
    return Folder(Path(named.removeprefix("folder:")).expanduser())


__all__ = [
    "VARIABLE",
    "Page",
    "SearchFailed",
    "WebResults",
    "WebSearch",
    "search_all",
    "web_search",
]
