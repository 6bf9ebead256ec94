"""Fact authenticity: facts are extracted, looked up and verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final

import anyio

from judges.inspirescore._options import InspireScoreOptions
from judges.inspirescore._responses import RoundResponse
from judges.inspirescore._schemas import (
    CheckedFact,
    TruthValue,
    ask_about,
    ask_with_room,
    form,
    list_type,
    object_schema,
    part_size,
)
from judges.inspirescore.fol import Truth
from retrieval.web.search import WebSearch, search_all
from touche_rad.frozen import frozen
from touche_rad.lists import alternate, unique
from touche_rad.models import Model, ask_in_parts
from touche_rad.models.output import Line
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, excerpt, sentences, spaced_words

LONGEST_TEXT: Final = 400
"""Characters of a fact, and of a piece of evidence."""
SHORTEST_QUOTATION: Final = 6
"""Words of a sentence that is recognised as a quotation."""
LONGEST_QUERIES: Final = 2_000
"""Characters of all queries of a response, as in the paper."""


TOKENS_PER_LINE: Final = 36
"""Token limit of an answer for each fact or query."""
TOKENS_PER_VERDICT: Final = 12


@frozen
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
    evidence = _plain(piece.text)
    parts = [evidence]
    if piece.argument:
        quotable = [_plain(sentence) for sentence in sentences(piece.text)]
        parts += [part for part in quotable if len(part.split()) >= SHORTEST_QUOTATION]
    for speech in map(_plain, speeches):
        if any(part in speech for part in parts):
            return True
        # A short speech such as "Yes." stands in many texts by chance.
        if len(speech.split()) >= SHORTEST_QUOTATION and speech in evidence:
            return True
    return False


def _plain(text: str) -> str:
    """Return the words only, with spaces around them so that no word matches in part."""
    return spaced_words(text.casefold())


@frozen
class EvidenceSearch:
    """The sources of evidence."""

    index: ArgumentIndex | None
    web: WebSearch | None
    options: InspireScoreOptions

    @property
    def sources(self) -> list[str]:
        """The names of the sources."""
        names = ["argument index"] if self.index is not None else []
        return names + ([self.web.place] if self.web else [])

    async def search(
        self, queries: Sequence[Sequence[str]], speeches: Sequence[str] = ()
    ) -> tuple[list[Sequence[Piece]], Sequence[str]]:
        """Search each response's queries; return the evidence for each, and what failed.

        What only repeats one of the speeches is no evidence.
        """
        if self.options.searches == "joined":
            queries = [[" ".join(texts)] if texts else [] for texts in queries]
        most = self.options.results_per_search
        by_query: dict[str, list[list[Piece]]] = {query: [] for texts in queries for query in texts}
        faults: list[str] = []
        if self.index is not None:
            for query, lists in by_query.items():
                try:
                    hits = await anyio.to_thread.run_sync(
                        self.index.search, "text", query, most, abandon_on_cancel=True
                    )
                except Exception as error:
                    problem = clean(excerpt(error, LONGEST_TEXT)) or type(error).__name__
                    faults.append(f"argument index: {problem}")
                    break
                lists.append(
                    [
                        Piece(
                            f"argument {hit.argument.id}",
                            clean(hit.argument.text)[:LONGEST_TEXT],
                            argument=True,
                        )
                        for hit in hits
                    ]
                )
        if self.web:
            results = await search_all(self.web, list(by_query), most)
            faults += [results.fault] if results.fault else []
            for lists, pages in zip(by_query.values(), results.pages, strict=False):
                lists.append(
                    [
                        Piece(
                            "web: " + (page.address or page.title), clean(page.text)[:LONGEST_TEXT]
                        )
                        for page in pages
                    ]
                )

        def proofs(pieces: Sequence[Piece]) -> list[Piece]:
            return [piece for piece in pieces if not repeats(piece, speeches)]

        # The best result of every query and source comes first, then the second; no text twice.
        evidence: list[Sequence[Piece]] = []
        for texts in queries:
            lists = [proofs(pieces) for query in texts for pieces in by_query[query]]
            pieces = unique(alternate(lists), key=lambda piece: piece.text)
            with_text = [piece for piece in pieces if piece.text]
            evidence.append(with_text[: self.options.max_evidence])
        return evidence, faults


@frozen
class CheckedFacts:
    """A response's facts with queries, evidence and verdicts."""

    response: RoundResponse
    facts: Sequence[str] = ()
    left_off: int = 0
    """Facts beyond the maximum."""
    queries: Sequence[str] = ()
    evidence: Sequence[Piece] = ()
    verdicts: Sequence[Truth] = ()
    reasons: Sequence[str] = ()
    fault: str = ""


@frozen
class FactChecker:
    """Checks the facts of responses."""

    model: Model
    evidence: EvidenceSearch
    options: InspireScoreOptions

    async def check(
        self, motion: str, responses: Sequence[RoundResponse]
    ) -> tuple[list[CheckedFacts], Sequence[str]]:
        """Check each response's facts; return them, and what failed in the search."""
        options = self.options
        size = options.batch
        texts = [response.shown for response in responses]
        extracted = await ask_in_parts(
            responses,
            part_size(texts, size, options.characters_per_call),
            partial(self._extract, motion),
            lambda response, why: CheckedFacts(response, fault=why),
        )
        checked = {facts.response: facts for facts in extracted}
        stated = [facts for facts in extracted if facts.facts]
        faults: Sequence[str] = ()
        if self.evidence.sources:
            if options.detailed:
                stated = await ask_in_parts(
                    stated,
                    size,
                    partial(self._write_queries, motion),
                    lambda facts, _: replace(facts, queries=self._limit(facts.facts)),
                )
            speeches = () if options.keep_quotations else texts
            queries = [facts.queries for facts in stated]
            evidence, faults = await self.evidence.search(queries, speeches)
            stated = [
                replace(facts, evidence=pieces)
                for facts, pieces in zip(stated, evidence, strict=True)
            ]
        if options.without_evidence == "unknown":
            unknown: Truth = "unknown"
            for facts in stated:
                if not facts.evidence:
                    verdicts = (unknown,) * len(facts.facts)
                    checked[facts.response] = replace(facts, verdicts=verdicts)
            stated = [facts for facts in stated if facts.evidence]
        verified = await ask_in_parts(
            stated, size, self._verify, lambda facts, why: replace(facts, fault=why)
        )
        checked |= {facts.response: facts for facts in verified}
        return list(checked.values()), faults

    async def _extract(self, motion: str, batch: Sequence[RoundResponse]) -> list[CheckedFacts]:
        """Extract facts; if they are searched for, also their queries, unless that is a step."""
        most = self.options.max_facts
        queries = 0
        kind: object = list_type(Line, most)
        if self.evidence.sources and not self.options.detailed:
            queries = self.options.max_queries
            kind = object_schema(
                "FactsAndQueries", {"facts": kind, "queries": list_type(Line, queries)}
            )
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
            limited = self._limit(parts.get("queries", []))
            left_off = max(0, len(facts) - most)
            checked.append(CheckedFacts(response, facts[:most], left_off, limited))
        return checked

    async def _write_queries(
        self, motion: str, batch: Sequence[CheckedFacts]
    ) -> list[CheckedFacts]:
        """Ask for the queries in a call of their own, as the paper does."""
        most = self.options.max_queries
        kind = list_type(Line, most)
        answers = await ask_about(
            self.model,
            "queries",
            "Queries",
            _number_facts(batch),
            [kind] * len(batch),
            len(batch) * TOKENS_PER_LINE * (most + 1),
            motion=motion,
            most_queries=most,
            form=form(kind),
        )
        return [
            replace(facts, queries=self._limit(answer))
            for facts, answer in zip(batch, answers, strict=True)
        ]

    async def _verify(self, batch: Sequence[CheckedFacts]) -> list[CheckedFacts]:
        """Ask for a verdict on each fact; without any evidence by the model's knowledge."""
        reasons = self.options.fact_reasons
        numbered = _number_facts(batch)
        names = [name for texts in numbered for name in texts]
        schema = object_schema(
            "Verdicts", dict.fromkeys(names, CheckedFact if reasons else TruthValue)
        )
        verdicts = dict(
            await ask_with_room(
                self.model,
                "verify",
                schema,
                len(names) * (2 * TOKENS_PER_LINE if reasons else TOKENS_PER_VERDICT),
                alone=len(batch) == 1,
                responses=[
                    {"facts": texts, "evidence": facts.evidence}
                    for facts, texts in zip(batch, numbered, strict=True)
                ],
                searched=any(facts.evidence for facts in batch),
                reasons=reasons,
                form=form(schema),
            )
        )
        verified = []
        for facts, texts in zip(batch, numbered, strict=True):
            answers = [verdicts[name] for name in texts]
            if reasons:
                facts = replace(facts, reasons=[clean(fact.reason) for fact in answers])
                answers = [fact.verdict for fact in answers]
            verified.append(replace(facts, verdicts=answers))
        return verified

    def _limit(self, queries: Sequence[str]) -> list[str]:
        """Keep the queries up to their maximum number and length."""
        result: list[str] = []
        for query in _distinct(queries)[: self.options.max_queries]:
            if len("\n".join([*result, query])) <= LONGEST_QUERIES:
                result.append(query)
        return result


def _number_facts(batch: Sequence[CheckedFacts]) -> list[dict[str, str]]:
    """Return each response's facts by key; the numbers continue from response to response."""
    numbers = count(1)
    numbered = []
    for facts in batch:
        numbered.append({f"fact_{next(numbers)}": fact for fact in facts.facts})
    return numbered


def _distinct(texts: Sequence[str]) -> list[str]:
    return unique(filter(None, (clean(text)[:LONGEST_TEXT] for text in texts)), key=str.casefold)
