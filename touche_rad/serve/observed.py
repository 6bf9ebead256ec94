"""An index whose searches a page shows while a debater works."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import Any, Final

from touche_rad.calls import current_context
from touche_rad.debate import Hit
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import is_blank

_LONGEST_QUERY: Final = 160


class ObservedIndex:
    """Reports each search to the observer of the answer for which it is made, if there is one."""

    def __init__(self, index: ArgumentIndex) -> None:
        """Observe the searches of an index."""
        self._index = index

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        """Return the best `k` arguments by one field."""
        hits = self._index.search(field, query, k)
        _report(field, query, hits)
        return hits

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search for many queries at once."""
        results = self._index.search_all(field, queries, k)
        for query, hits in zip(queries, results, strict=False):
            _report(field, query, hits)
        return results

    def __len__(self) -> int:
        return len(self._index)

    def __getattr__(self, name: str) -> Any:
        """Return what else the index has: arguments, and perhaps vectors, links and annotations."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._index, name)


def _report(field: str, query: str, hits: Sequence[Hit]) -> None:
    use = current_context().use
    if use and use.observe and not is_blank(query):
        text = shorten(query, _LONGEST_QUERY, placeholder=" …")
        use.observe({"event": "search", "field": field, "query": text, "found": len(hits)})
