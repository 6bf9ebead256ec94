"""Report the searches of a debater to the page while it works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from touche_rad.calls import call_context, current_context
from touche_rad.debate import Hit
from touche_rad.plugins import ArgumentIndex

_WATCHED: Final = "_touche_rad_watched"
_LONGEST: Final = 160


def watch(index: ArgumentIndex | None) -> None:
    """Let an index report each search to `CallContext.observe`, if somebody observes.

    The object itself is changed, because plugins ask for its type and its optional members.
    """
    members = getattr(index, "__dict__", None)
    if index is not None and members is not None and _WATCHED not in members:
        members["search"] = _reporting(index.search, lambda hits: [hits])
        members["search_all"] = _reporting(index.search_all, lambda lists: lists)
        members[_WATCHED] = True


def _reporting(search: Any, lists: Callable[[Any], Sequence[Sequence[Hit]]]) -> Any:
    def reporting(field: str, query: Any, k: int) -> Any:
        observe = current_context().observe
        if observe is None:
            return search(field, query, k)
        with call_context(observe=None):  # a search may use other searches
            result = search(field, query, k)
        queries = [query] if isinstance(query, str) else list(query)
        for text, hits in zip(queries, lists(result), strict=False):
            observe(
                {"event": "search", "field": field, "query": text[:_LONGEST], "found": len(hits)}
            )
        return result

    return reporting
