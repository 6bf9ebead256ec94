"""Fact authenticity: facts are extracted, looked up and verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, zip_longest
from typing import Any, Final

import anyio

from judges.inspirescore._options import InspireScoreOptions
from judges.inspirescore._responses import Response
from judges.inspirescore._schemas import (
    CheckedFact,
    Truth,
    TruthValue,
    ask_about,
    ask_with_room,
    bounded,
    form,
    keyed,
    part_size,
)
from retrieval.web.search import WebSearch, search_all
from touche_rad.models import Model, Prompt, ask_in_parts
from touche_rad.models.output import Line
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, excerpt, sentences, words

LONGEST: Final = 400
"""Characters of a fact, and of a piece of evidence."""
SHORTEST_QUOTATION: Final = 6
"""Words of a sentence that is recognised as a quotation."""
LONGEST_QUERIES: Final = 2_000
"""Characters of all queries of a response, as in the paper."""


TOKENS_PER_LINE: Final = 36
"""Token limit of an answer for each fact or query."""
TOKENS_PER_VERDICT: Final = 12


@dataclass(frozen=True)
class Piece:
    """A piece of evidence and its source."""

    source: str
    text: str
    argument: bool = False
    """Whether it is an argument of the index, which systems quote sentence by sentence."""


def repeats(piece: Piece, speeches: Sequence[str]) -> bool:
    """Whether a piece of evidence only repeats a speech, word for word, and proves nothing.

    The piece stands in the speech, or the speech in the piece. For an argument one quoted sentence
    is enough.
    """
    texts = [_plain(speech) for speech in speeches]
    whole = _plain(piece.text)
    quoted = [_plain(one) for one in sentences(piece.text)] if piece.argument else []
    parts = [whole, *(one for one in quoted if len(one.split()) >= SHORTEST_QUOTATION)]
    return any(part in one for part in parts for one in texts) or any(
        len(one.split()) >= SHORTEST_QUOTATION and one in whole for one in texts
    )


def _plain(text: str) -> str:
    """Return the words only, with spaces around them so that no word matches in part."""
    return f" {' '.join(words(text.casefold()))} "


@dataclass(frozen=True)
class Evidence:
    """The sources of evidence."""

    index: ArgumentIndex | None
    web: WebSearch | None
    options: InspireScoreOptions

    @property
    def sources(self) -> list[str]:
        """The names of the sources."""
        names = ["argument index"] if self.index is not None else []
        return names + ([self.web.place] if self.web is not None else [])

    async def search(
        self, queries: Sequence[Sequence[str]], speeches: Sequence[str] = ()
    ) -> tuple[list[tuple[Piece, ...]], tuple[str, ...]]:
        """Search each response's queries; return the evidence for each, and what failed.

        What only repeats one of the speeches is no evidence.
        """
        if self.options.searches == "joined":
            queries = [[" ".join(own)] if own else [] for own in queries]
        by_query: dict[str, list[list[Piece]]] = {query: [] for own in queries for query in own}
        faults: list[str] = []
        for search in (self._search_index, self._search_web):
            results, fault = await search(list(by_query))
            faults += [fault] if fault else []
            for lists, hits in zip(by_query.values(), results, strict=False):
                lists.append([piece for piece in hits if not repeats(piece, speeches)])
        return [self._best([by_query[query] for query in own]) for own in queries], tuple(faults)

    async def _search_web(self, queries: list[str]) -> tuple[list[list[Piece]], str]:
        if self.web is None:
            return [], ""
        results = await search_all(self.web, queries, self.options.results_per_search)
        pieces = [
            [
                Piece(f"web: {page.address or page.title}", clean(page.text)[:LONGEST])
                for page in pages
            ]
            for pages in results.pages
        ]
        return pieces, results.fault

    async def _search_index(self, queries: list[str]) -> tuple[list[list[Piece]], str]:
        index, results = self.index, list[list[Piece]]()
        if index is None:
            return results, ""
        for query in queries:
            search = partial(index.search, "text", query, self.options.results_per_search)
            try:
                hits = await anyio.to_thread.run_sync(search, abandon_on_cancel=True)
            except Exception as error:
                fault = clean(excerpt(error, LONGEST)) or type(error).__name__
                return results, f"argument index: {fault}"
            results.append(
                [
                    Piece(f"argument {hit.argument.id}", clean(hit.argument.text)[:LONGEST], True)
                    for hit in hits
                ]
            )
        return results, ""

    def _best(self, results: Sequence[Sequence[Sequence[Piece]]]) -> tuple[Piece, ...]:
        """Take the best result of every query and source first, then the second; no text twice."""
        lists = [pieces for of_query in results for pieces in of_query]
        once: dict[str, Piece] = {}
        for piece in chain.from_iterable(zip_longest(*lists)):
            if piece is not None and piece.text:
                once.setdefault(piece.text, piece)
        return tuple(once.values())[: self.options.max_evidence]


@dataclass(frozen=True)
class CheckedFacts:
    """A response's facts with queries, evidence and verdicts."""

    response: Response
    facts: tuple[str, ...] = ()
    left_off: int = 0
    """Facts beyond the maximum."""
    queries: tuple[str, ...] = ()
    evidence: tuple[Piece, ...] = ()
    verdicts: tuple[Truth, ...] = ()
    reasons: tuple[str, ...] = ()
    fault: str = ""

    @property
    def counted(self) -> tuple[int, int]:
        """The number of true facts and of all facts; unknown is not true."""
        return self.verdicts.count("true"), len(self.verdicts)


@dataclass(frozen=True)
class FactChecker:
    """Checks the facts of responses."""

    model: Model
    evidence: Evidence
    options: InspireScoreOptions

    async def check(
        self, motion: str, responses: Sequence[Response]
    ) -> tuple[list[CheckedFacts], tuple[str, ...]]:
        """Check each response's facts; return them, and what failed in the search."""
        options = self.options
        size, texts = options.batch, [response.shown for response in responses]
        every = await ask_in_parts(
            responses,
            part_size(texts, size, options.characters_per_call),
            partial(self._extract, motion),
            lambda one, why: CheckedFacts(one, fault=why),
        )
        stated, faults = [one for one in every if one.facts], tuple[str, ...]()
        if self.evidence.sources:
            if options.detailed:
                stated = await ask_in_parts(
                    stated,
                    size,
                    partial(self._write_queries, motion),
                    lambda one, _: replace(one, queries=self._limited(one.facts)),
                )
            speeches = () if options.keep_quotations else texts
            evidence, faults = await self.evidence.search([one.queries for one in stated], speeches)
            stated = [replace(one, evidence=own) for one, own in zip(stated, evidence, strict=True)]
        done = {}
        if options.without_evidence == "unknown":
            unknown: Truth = "unknown"
            for one in stated:
                if not one.evidence:
                    done[one.response] = replace(one, verdicts=(unknown,) * len(one.facts))
            stated = [one for one in stated if one.evidence]
        verified = await ask_in_parts(
            stated, size, self._verify, lambda one, why: replace(one, fault=why)
        )
        done |= {one.response: one for one in verified}
        return [done.get(one.response, one) for one in every], faults

    async def _extract(self, motion: str, batch: Sequence[Response]) -> list[CheckedFacts]:
        """Extract facts; if they are searched for, also their queries, unless that is a step."""
        most, queries = self.options.max_facts, 0
        kind: object = bounded(Line, most)
        if self.evidence.sources and not self.options.detailed:
            queries = self.options.max_queries
            kind = keyed("FactsAndQueries", {"facts": kind, "queries": bounded(Line, queries)})
        answers = await ask_about(
            self.model,
            "facts",
            "Facts",
            batch,
            [kind] * len(batch),
            len(batch) * TOKENS_PER_LINE * (most + queries + 2),
            motion=motion,
            most_facts=most,
            most_queries=queries,
            form=form(kind),
        )
        checked = []
        for response, answer in zip(batch, answers, strict=True):
            parts = {"facts": answer} if isinstance(answer, list) else dict(answer)
            facts = _distinct(parts["facts"])
            limited = self._limited(parts.get("queries", []))
            left_off = max(0, len(facts) - most)
            checked.append(CheckedFacts(response, tuple(facts[:most]), left_off, limited))
        return checked

    async def _write_queries(
        self, motion: str, batch: Sequence[CheckedFacts]
    ) -> list[CheckedFacts]:
        """Ask for the queries in a call of their own, as the paper does."""
        most = self.options.max_queries
        kind = bounded(Line, most)
        answers = await ask_about(
            self.model,
            "queries",
            "Queries",
            _numbered(batch),
            [kind] * len(batch),
            len(batch) * TOKENS_PER_LINE * (most + 1),
            motion=motion,
            most_queries=most,
            form=form(kind),
        )
        return [
            replace(one, queries=self._limited(answer))
            for one, answer in zip(batch, answers, strict=True)
        ]

    async def _verify(self, batch: Sequence[CheckedFacts]) -> list[CheckedFacts]:
        """Ask for a verdict on each fact; without any evidence by the model's knowledge."""
        reasons, numbered = self.options.fact_reasons, _numbered(batch)
        names = [name for facts in numbered for name in facts]
        schema = keyed("Verdicts", dict.fromkeys(names, CheckedFact if reasons else TruthValue))
        messages = Prompt.load(__package__, "verify").messages(
            responses=[
                {"facts": facts, "evidence": one.evidence}
                for one, facts in zip(batch, numbered, strict=True)
            ],
            searched=any(one.evidence for one in batch),
            reasons=reasons,
            form=form(schema),
        )
        limit = len(names) * (2 * TOKENS_PER_LINE if reasons else TOKENS_PER_VERDICT)
        answer = await ask_with_room(
            self.model, messages, schema, "verify", limit, alone=len(batch) == 1
        )
        verdicts = dict(answer)
        return [
            replace(one, **_read([verdicts[name] for name in facts]))
            for one, facts in zip(batch, numbered, strict=True)
        ]

    def _limited(self, queries: Sequence[str]) -> tuple[str, ...]:
        """Keep the queries up to their maximum number and length."""
        result: list[str] = []
        for query in _distinct(queries)[: self.options.max_queries]:
            if len("\n".join([*result, query])) <= LONGEST_QUERIES:
                result.append(query)
        return tuple(result)


def _read(answers: Sequence[Truth | CheckedFact]) -> dict[str, Any]:
    """Return the verdicts, and the reasons if there are any."""
    checked = [one for one in answers if isinstance(one, CheckedFact)]
    return {
        "verdicts": tuple(one.verdict if isinstance(one, CheckedFact) else one for one in answers),
        "reasons": tuple(clean(one.reason) for one in checked),
    }


def _numbered(batch: Sequence[CheckedFacts]) -> list[dict[str, str]]:
    """Return each response's facts by key; the numbers continue from response to response."""
    numbers = count(1)
    return [{f"fact_{next(numbers)}": fact for fact in one.facts} for one in batch]


def _distinct(texts: Sequence[str]) -> list[str]:
    once: dict[str, str] = {}
    for text in (clean(one)[:LONGEST] for one in texts):
        once.setdefault(text.casefold(), text)
    return [text for text in once.values() if text]
