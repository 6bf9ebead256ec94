"""Web search, off by default: a SearXNG server or a folder of texts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from retrieval.web._folder import TextFolder
from retrieval.web._searxng import SearXNG
from retrieval.web.search import WebSearch

VARIABLE: Final = "TOUCHE_RAD_WEB"


def web_search(source: str = "") -> WebSearch | None:
    """Return the web search that is named by the argument, else by the environment, else None.

    A name is the address of a SearXNG server, a folder of texts, or `off`.
    """
    named = source.strip() or os.environ.get(VARIABLE, "").strip()
    if named in ("", "off"):
        return None
    if named.startswith(("http://", "https://")):
        return SearXNG(named)
    return TextFolder(Path(os.path.expanduser(named)))


__all__ = ["search"]
