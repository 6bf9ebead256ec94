"""Where facts are looked up: the argument index, the web if the user named one, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Final, Literal

import anyio

from retrieval.web import WebSearch, searched
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean

LONGEST: Final = 400
"""Letters of a piece that are shown."""
Searches = Literal["each", "joined"]


@dataclass(frozen=True)
class Piece:
    """Something that was found, and where."""

    source: str
    text: str


@dataclass(frozen=True)
class Found:
    """The pieces for each response, best first, and why some are missing."""

    pieces: tuple[tuple[Piece, ...], ...]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """The sources, and how much of each is taken."""

    index: ArgumentIndex | None
    web: WebSearch | None
    hits: int
    most: int
    """How many pieces are shown for one response."""
    searches: Searches = "each"

    @property
    def sources(self) -> list[str]:
        """What is searched, for a person."""
        names = ["argument index"] if self.index is not None else []
        return names + ([self.web.place] if self.web is not None else [])

    async def of(self, queries: Sequence[Sequence[str]]) -> Found:
        """Look up each response's queries; a source that fails gives nothing, and says so."""
        if self.searches == "joined":
            queries = [[" ".join(own)] if own else [] for own in queries]
        every = list(dict.fromkeys(chain.from_iterable(queries)))
        by_query: dict[str, list[list[Piece]]] = {query: [] for query in every}
        faults: list[str] = []
        if self.index is not None:
            faults += await anyio.to_thread.run_sync(
                self._from_index, self.index, by_query, abandon_on_cancel=True
            )
        if self.web is not None:
            told = await searched(self.web, every, self.hits)
            faults += [told.fault] if told.fault else []
            for query, pages in zip(every, told.pages, strict=True):
                pieces = [
                    Piece(f"web: {page.address or page.title}", _short(page.text)) for page in pages
                ]
                by_query[query].append(pieces)
        chosen = tuple(self._chosen([by_query[query] for query in own]) for own in queries)
        return Found(chosen, tuple(faults))

    def _from_index(
        self, index: ArgumentIndex, by_query: dict[str, list[list[Piece]]]
    ) -> list[str]:
        for query, found in by_query.items():
            try:
                hits = index.search("text", query, self.hits)
            except Exception as error:
                return [f"argument index: {clean(str(error))[:LONGEST] or type(error).__name__}"]
            found.append(
                [Piece(f"argument {hit.argument.id}", _short(hit.argument.text)) for hit in hits]
            )
        return []

    def _chosen(self, found: Sequence[Sequence[Sequence[Piece]]]) -> tuple[Piece, ...]:
        """The best of every query and source before the second best of any, each text once."""
        lists = [pieces for of_query in found for pieces in of_query]
        once: dict[str, Piece] = {}
        for piece in chain.from_iterable(zip_longest(*lists)):
            if piece is not None and piece.text:
                once.setdefault(piece.text, piece)
        return tuple(once.values())[: self.most]


def _short(text: str) -> str:
    return clean(text)[:LONGEST]
