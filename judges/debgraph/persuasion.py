"""Persuasion: of each pair that clashes in a rebuttal, which argument convinces more?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

from pydantic import BaseModel

from judges.debgraph.batches import batches
from judges.debgraph.graph import SceneGraph
from judges.debgraph.lenient import ProOrCon
from judges.debgraph.options import Options
from judges.debgraph.showing import quoted
from judges.debgraph.verdicts import Verdicts
from touche_rad.contest import Side
from touche_rad.models import Model, ModelError
from touche_rad.text import clean, cut_to_words

Winner = Literal["pro", "con", "split"]


class PairWinner(BaseModel):
    """Which side's argument is more persuasive."""

    winner: ProOrCon


_VERDICTS: Final = Verdicts(
    PairWinner, name="PairVerdict", number="pair", prompt="pairs", step="debgraph.pair"
)


@dataclass(frozen=True)
class Pair:
    """An argument of either side that a rebuttal joins, and who answers whom."""

    pro: int
    con: int
    answering: frozenset[Side]


@dataclass(frozen=True)
class Clash:
    """What was found of a pair; `split` where the two orders disagree."""

    pair: Pair
    winner: Winner | None = None
    feedback: str = ""
    fault: str = ""

    def share(self, side: Side) -> float | None:
        """What a side gets of the pair."""
        if self.winner is None:
            return None
        return 0.5 if self.winner == "split" else float(self.winner == side)


def pairs_of(graph: SceneGraph, how: Literal["once", "edges"]) -> list[Pair]:
    """Return the rebuttal pairs, in the order in which they came about."""
    found: list[Pair] = []
    for edge in graph.edges():
        if not edge.relation.attacks:
            continue
        side: Side = graph.node(edge.source).side
        ends = (edge.source, edge.target) if side == "pro" else (edge.target, edge.source)
        found.append(Pair(*ends, frozenset({side})))
    if how == "edges":
        return found
    joined: dict[tuple[int, int], Pair] = {}
    for pair in found:
        ends = (pair.pro, pair.con)
        before = joined.get(ends, pair)
        joined[ends] = replace(pair, answering=before.answering | pair.answering)
    return list(joined.values())


def pro_first(seed: int, pro: str, con: str) -> bool:
    """Whether the pro argument is shown first, by chance and not by its side.

    The same two texts come in the same order when their sides are exchanged.
    """
    low, high = sorted((pro, con))
    drawn = hashlib.sha256(f"{seed}\0{low}\0{high}".encode("utf-8", "replace")).digest()[0] % 2
    return (pro == low) == (drawn == 0)


class Comparison:
    """Asks of each pair, alone or with others, in one order or in both."""

    def __init__(self, model: Model, options: Options, info: str, seed: int) -> None:
        self._model, self._options, self._info, self._seed = model, options, info, seed

    async def compare(self, graph: SceneGraph) -> list[Clash]:
        """Return a verdict on each pair of the graph."""
        pairs = pairs_of(graph, self._options.pairs)
        first = [self._pro_first(graph, pair) for pair in pairs]
        found = await self._in_order(graph, pairs, first)
        if self._options.order != "both":
            return found
        other = await self._in_order(graph, pairs, [not one for one in first])
        return [_of_both(one, two) for one, two in zip(found, other, strict=True)]

    def _pro_first(self, graph: SceneGraph, pair: Pair) -> bool:
        if self._options.order != "random":
            return True
        return pro_first(self._seed, graph.node(pair.pro).text, graph.node(pair.con).text)

    async def _in_order(
        self, graph: SceneGraph, pairs: Sequence[Pair], first: Sequence[bool]
    ) -> list[Clash]:
        size = 1 if self._options.ask == "each" else self._options.batch
        groups = batches(list(zip(pairs, first, strict=True)), size)
        found = await self._model.ask_all([partial(self._asked, graph, group) for group in groups])
        clashes: list[Clash] = []
        for group, answer in zip(groups, found, strict=True):
            for number, (pair, _) in enumerate(group, 1):
                if isinstance(answer, ModelError):
                    clashes.append(Clash(pair, fault=str(answer)))
                else:
                    clashes.append(self._clash(pair, answer.get(number)))
        return clashes

    def _clash(self, pair: Pair, told: PairWinner | None) -> Clash:
        if told is None:
            return Clash(pair, fault="the model said nothing on this pair")
        said = clean(str(getattr(told, "feedback", "")))
        return Clash(pair, told.winner, cut_to_words(said, self._options.feedback_words))

    async def _asked(
        self, graph: SceneGraph, group: Sequence[tuple[Pair, bool]]
    ) -> dict[int, PairWinner]:
        return await _VERDICTS.ask(
            self._model, self._options, range(1, len(group) + 1),
            motion=quoted(graph.motion), info=self._info,
            pairs=[
                {"number": number, "arguments": _in_turn(graph, pair, pro_is_first)}
                for number, (pair, pro_is_first) in enumerate(group, 1)
            ],
        )  # fmt: skip


def _in_turn(graph: SceneGraph, pair: Pair, pro_is_first: bool) -> list[dict[str, Any]]:
    ends: list[tuple[Side, int]] = [("pro", pair.pro), ("con", pair.con)]
    return [
        {"side": side, "text": quoted(graph.node(id_).text), "answers": side in pair.answering}
        for side, id_ in (ends if pro_is_first else ends[::-1])
    ]


def _of_both(one: Clash, two: Clash) -> Clash:
    """A pair that was asked in both orders; who wins in one alone wins half of it."""
    if one.winner is None or two.winner is None:
        return one if one.winner is None else replace(two, feedback=one.feedback)
    return one if one.winner == two.winner else replace(one, winner="split")
