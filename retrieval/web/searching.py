"""Many queries at once, where a search that fails costs the evidence and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from retrieval.web.page import Page, SearchFailed, WebSearch

AT_ONCE: Final = 4


@dataclass(frozen=True)
class Searched:
    """The pages of each query, and why some are missing."""

    pages: tuple[tuple[Page, ...], ...]
    fault: str = ""


async def searched(web: WebSearch, queries: Sequence[str], k: int) -> Searched:
    """Search for each query; after a failure nothing more is asked of a server that is in need."""
    found: dict[int, tuple[Page, ...]] = {}
    faults: list[str] = []
    room = anyio.Semaphore(AT_ONCE)

    async def one(place: int, query: str) -> None:
        async with room:
            if faults:
                return
            try:
                found[place] = tuple(await web.search(query, k))
            except SearchFailed as error:
                faults.append(str(error))

    async with anyio.create_task_group() as group:
        for place, query in enumerate(queries):
            group.start_soon(one, place, query)
    pages = tuple(found.get(place, ()) for place in range(len(queries)))
    return Searched(pages, faults[0] if faults else "")
