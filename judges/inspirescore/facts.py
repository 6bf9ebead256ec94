"""Fact authenticity: what a response states is taken apart, looked up, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from judges.inspirescore.batches import in_batches
from judges.inspirescore.evidence import Evidence, Piece
from judges.inspirescore.prompt import prompt
from judges.inspirescore.responses import Response
from judges.inspirescore.schemas import Told, Truth, bounded, keyed
from touche_rad.models import Model, ModelError
from touche_rad.models.schemas import Line
from touche_rad.text import clean

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
