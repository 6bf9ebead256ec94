"""A search of the web, off unless the user names one: a SearXNG server or a folder of documents."""

from retrieval.web.opening import VARIABLE, web_search
from retrieval.web.search import Page, Searched, SearchFailed, WebSearch, searched

__all__ = [
    "VARIABLE", "Page", "SearchFailed", "Searched", "WebSearch", "searched", "web_search",
]  # fmt: skip
