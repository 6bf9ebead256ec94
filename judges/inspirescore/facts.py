"""Fact authenticity: claims are extracted, looked up and verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, Final, Literal

import anyio

from judges.inspirescore.responses import Response
from judges.inspirescore.schemas import Told, Truth, bounded, in_batches, keyed, prompt
from retrieval.web import WebSearch, searched
from touche_rad.models import Model, ModelError
from touche_rad.models.output import Line
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


LONGEST_QUERIES: Final = 2_000
"""Letters of a response's queries together, as the paper bounds them."""
LONGEST_FACT: Final = 400


@dataclass(frozen=True)
class Checked:
    """A response's facts and what became of them."""

    response: Response
    facts: tuple[str, ...] = ()
    left_off: int = 0
    """How many more the model found than are looked at."""
    queries: tuple[str, ...] = ()
    evidence: tuple[Piece, ...] = ()
    verdicts: tuple[Truth, ...] = ()
    fault: str = ""

    @property
    def counted(self) -> tuple[int, int]:
        """How many facts are true, and how many there are; unknown is not true."""
        return self.verdicts.count("true"), len(self.verdicts)


@dataclass(frozen=True)
class Checking:
    """How facts are checked."""

    model: Model
    evidence: Evidence
    size: int
    """Responses in one call."""
    at_once: bool
    """Whether facts and queries come of one call."""
    most_facts: int
    most_queries: int
    without: Literal["knowledge", "unknown"] = "knowledge"
    """What a fact is checked against where nothing was found."""

    async def checked(
        self, motion: str, responses: Sequence[Response]
    ) -> tuple[list[Checked], tuple[str, ...]]:
        """Check each response's facts; what fails costs that response's facts alone."""
        found = await self._each(motion, responses, self._extracted, Checked)
        with_facts = [one for one in found if one.facts]
        faults: tuple[str, ...] = ()
        if self.evidence.sources:
            if not self.at_once:
                with_facts = await self._asked_for_queries(motion, with_facts)
            looked_up = await self.evidence.of([one.queries for one in with_facts])
            faults = looked_up.faults
            with_facts = [
                replace(one, evidence=pieces)
                for one, pieces in zip(with_facts, looked_up.pieces, strict=True)
            ]
        done = {one.response: one for one in await self._verified(with_facts)}
        return [done.get(one.response, one) for one in found], faults

    async def _each(
        self, motion: str, items: Sequence[Any], ask: Any, failed: Any
    ) -> list[Checked]:
        async def bound(batch: Sequence[Any]) -> list[Checked]:
            made: list[Checked] = await ask(motion, batch)
            return made

        found = await in_batches(self.model, items, self.size, bound)
        return [
            failed(item, fault=str(one)) if isinstance(one, ModelError) else one
            for item, one in zip(items, found, strict=True)
        ]

    async def _extracted(self, motion: str, batch: Sequence[Response]) -> list[Checked]:
        queries = self.most_queries if self.at_once and self.evidence.sources else 0
        facts = bounded(Line, self.most_facts)
        kind: Any = facts
        if queries:
            kind = keyed("FactsAndQueries", {"facts": facts, "queries": bounded(Line, queries)})
        keys = _keys(batch)
        messages = prompt("facts").messages(
            motion=motion, responses=dict(zip(keys, batch, strict=True)),
            most_facts=self.most_facts, most_queries=queries,
        )  # fmt: skip
        answer = await self.model.ask(
            messages, keyed("Facts", dict.fromkeys(keys, kind)), step="inspirescore.facts"
        )
        return [self._read(one, getattr(answer, key)) for key, one in zip(keys, batch, strict=True)]

    def _read(self, response: Response, answer: Any) -> Checked:
        told = answer if isinstance(answer, list) else answer.facts
        asked = [] if isinstance(answer, list) else answer.queries
        facts = _distinct(told)
        return Checked(
            response, tuple(facts[: self.most_facts]), max(0, len(facts) - self.most_facts),
            self._bounded(asked),
        )  # fmt: skip

    def _bounded(self, told: Sequence[str]) -> tuple[str, ...]:
        queries: list[str] = []
        for query in _distinct(told)[: self.most_queries]:
            if len("\n".join([*queries, query])) <= LONGEST_QUERIES:
                queries.append(query)
        return tuple(queries)

    async def _asked_for_queries(self, motion: str, items: Sequence[Checked]) -> list[Checked]:
        """The paper's second step; where it fails the facts are searched for as they stand."""

        def plain(item: Checked, fault: str) -> Checked:
            return replace(item, queries=self._bounded(item.facts))

        return await self._each(motion, items, self._queried, plain)

    async def _queried(self, motion: str, batch: Sequence[Checked]) -> list[Checked]:
        keys = _keys(batch)
        messages = prompt("queries").messages(
            motion=motion, most_queries=self.most_queries, responses=_numbered(keys, batch)
        )
        schema = keyed("Queries", dict.fromkeys(keys, bounded(Line, self.most_queries)))
        answer = await self.model.ask(messages, schema, step="inspirescore.queries")
        return [
            replace(one, queries=self._bounded(getattr(answer, key)))
            for key, one in zip(keys, batch, strict=True)
        ]

    async def _verified(self, items: Sequence[Checked]) -> list[Checked]:
        """The last step; a fact without evidence goes by the model's knowledge, or is unknown."""
        if self.without == "unknown":
            done = [_all_unknown(one) for one in items if not one.evidence]
            items = [one for one in items if one.evidence]
        else:
            done = []

        def failed(item: Checked, fault: str) -> Checked:
            return replace(item, fault=fault)

        return [*done, *await self._each("", items, self._judged, failed)]

    async def _judged(self, _: str, batch: Sequence[Checked]) -> list[Checked]:
        keys = _keys(batch)
        numbered = _numbered(keys, batch)
        messages = prompt("verify").messages(
            responses={
                key: {"facts": numbered[key], "evidence": one.evidence}
                for key, one in zip(keys, batch, strict=True)
            }
        )
        names = [name for facts in numbered.values() for name in facts]
        answer = await self.model.ask(
            messages, keyed("Verdicts", dict.fromkeys(names, Told)), step="inspirescore.verify"
        )
        return [
            replace(one, verdicts=tuple(getattr(answer, name) for name in numbered[key]))
            for key, one in zip(keys, batch, strict=True)
        ]


def _all_unknown(item: Checked) -> Checked:
    unknown: Truth = "unknown"
    return replace(item, verdicts=(unknown,) * len(item.facts))


def _keys(batch: Sequence[Any]) -> list[str]:
    return [f"response_{number}" for number in range(1, len(batch) + 1)]


def _numbered(keys: Sequence[str], batch: Sequence[Checked]) -> Mapping[str, Mapping[str, str]]:
    """Each response's facts by a number that runs on over the whole call."""
    numbered: dict[str, dict[str, str]] = {}
    number = 0
    for key, one in zip(keys, batch, strict=True):
        numbered[key] = {}
        for fact in one.facts:
            number += 1
            numbered[key][f"fact_{number}"] = fact
    return numbered


def _distinct(told: Sequence[str]) -> list[str]:
    """What was told, each once, in order, without what says nothing."""
    once: dict[str, str] = {}
    for line in (clean(one)[:LONGEST_FACT] for one in told):
        once.setdefault(line.casefold(), line)
    return [line for line in once.values() if line]
