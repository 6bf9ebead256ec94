"""Combine result lists and rerank them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from retrieval.index.analyser import tokens
from touche_rad.debate import Hit
from touche_rad.plugins import ArgumentIndex


def reciprocal_rank(
    lists: Sequence[Sequence[Hit]], weights: Sequence[float], k: float
) -> list[Hit]:
    """Fuse by reciprocal rank: each list gives weight / (k + rank), ranks counted from 1.

    A list without weight gives nothing, not even hits that no other list has.
    """
    scores: dict[str, float] = {}
    first: dict[str, Hit] = {}
    for hits, weight in zip(lists, weights, strict=True):
        for rank, hit in enumerate(hits if weight else (), 1):
            scores[hit.argument.id] = scores.get(hit.argument.id, 0.0) + weight / (k + rank)
            first.setdefault(hit.argument.id, hit)
    return ranked([first[id_].model_copy(update={"score": score}) for id_, score in scores.items()])


def ranked(hits: Sequence[Hit]) -> list[Hit]:
    """Order by score, then id, and number from 0."""
    ordered = sorted(hits, key=lambda hit: (-hit.score, hit.argument.id))
    return [hit.model_copy(update={"rank": rank}) for rank, hit in enumerate(ordered)]


def best_of(hits: Sequence[Hit]) -> list[Hit]:
    """Keep the best hit of each argument, ordered."""
    best: dict[str, Hit] = {}
    for hit in hits:
        known = best.get(hit.argument.id)
        if known is None or hit.score > known.score:
            best[hit.argument.id] = hit
    return ranked(list(best.values()))


def scaled(hits: Sequence[Hit]) -> list[Hit]:
    """Divide the scores by the best one, so that lists of several searches compare."""
    top = max((hit.score for hit in hits), default=0.0)
    if top <= 0:
        return list(hits)
    return [hit.model_copy(update={"score": hit.score / top}) for hit in hits]


class Reranker(pt.Transformer):
    """Base: reranks each query's documents; further columns are kept."""

    added: tuple[str, ...] = ()
    """Columns of numbers that come to those there are."""

    def transform(self, inp: Any) -> Any:
        """Rerank each query's documents."""
        pt.validate.result_frame(inp, extra_columns=["query"], context=self)
        if not len(inp):
            added = {name: pd.Series(dtype=float) for name in self.added}
            return inp.assign(score=pd.Series(dtype=float), **added, rank=pd.Series(dtype=int))
        parts = [
            self._reranked(part.reset_index(drop=True))
            for _, part in inp.groupby("qid", sort=False)
        ]
        return pt.model.add_ranks(pd.concat(parts, ignore_index=True))

    def _reranked(self, part: Any) -> Any:
        raise TypeError(f"{type(self).__name__} reranks nothing")


class TopicAgreement(Reranker):
    """Adds to a document's score how much of the evidence is about its topic.

    The best documents speak for the discussions that they are from, the more the better they are;
    what the query is about shows in them together when no single one shows it.
    """

    def __init__(
        self, index: ArgumentIndex, weight: float = 0.2, temperature: float = 0.05, top: int = 50
    ) -> None:
        super().__init__()
        self.index = index
        self.weight = weight
        self.temperature = temperature
        self.top = top

    def __repr__(self) -> str:
        return f"TopicAgreement(weight={self.weight})"

    def _reranked(self, part: Any) -> Any:
        scores = part["score"].to_numpy(dtype=float)
        found = [self.index.get(docno) for docno in part["docno"]]
        topics = [argument.topic if argument else "" for argument in found]
        best = np.argsort(-scores, kind="stable")[: self.top]
        voices = np.exp((scores[best] - scores.max()) / self.temperature)
        share: dict[str, float] = {}
        for place, voice in zip(best, voices / voices.sum(), strict=True):
            share[topics[place]] = share.get(topics[place], 0.0) + float(voice)
        added = np.array([share.get(topic, 0.0) for topic in topics])
        return part.assign(score=scores + self.weight * added)


class Diverse(Reranker):
    """Maximal marginal relevance: good documents that do not say what better ones say.

    The likeness of two arguments is the share of words that they have in common.
    """

    def __init__(self, index: ArgumentIndex, k: int = 10, relevance: float = 0.7) -> None:
        super().__init__()
        self.index = index
        self.k = k
        self.relevance = relevance

    def __repr__(self) -> str:
        return f"Diverse(k={self.k}, relevance={self.relevance})"

    def _reranked(self, part: Any) -> Any:
        scores = part["score"].to_numpy(dtype=float)
        spread = float(scores.max() - scores.min()) or 1.0
        worth = (scores - scores.min()) / spread
        words = [frozenset(_words(self.index, docno)) for docno in part["docno"]]
        taken: list[int] = []
        nearest = np.zeros(len(part))
        left = list(range(len(part)))
        while left and len(taken) < self.k:
            chosen = max(left, key=lambda at: (self._marginal(worth[at], float(nearest[at])), -at))
            left.remove(chosen)
            taken.append(chosen)
            for at in left:
                nearest[at] = max(nearest[at], _alike(words[at], words[chosen]))
        # Places count from here on: the first taken is the best.
        return part.iloc[taken].assign(score=np.arange(len(taken), 0, -1, dtype=float))

    def _marginal(self, worth: float, nearest: float) -> float:
        return self.relevance * worth - (1 - self.relevance) * nearest


class Unsaid(Reranker):
    """Leaves out what was said in the debate: the column `said` (texts), or the texts given."""

    def __init__(self, index: ArgumentIndex, said: Sequence[str] = (), near: float = 0.6) -> None:
        super().__init__()
        self.index = index
        self.said = tuple(said)
        self.near = near

    def __repr__(self) -> str:
        return f"Unsaid(near={self.near})"

    def _reranked(self, part: Any) -> Any:
        told = part["said"].iloc[0] if "said" in part.columns else ()
        heard = [frozenset(tokens(text)) for text in (*self.said, *told)]
        kept = [
            not any(_held(frozenset(_words(self.index, docno)), one, self.near) for one in heard)
            for docno in part["docno"]
        ]
        return part[kept]


def _words(index: ArgumentIndex, docno: str) -> list[str]:
    argument = index.get(docno)
    return tokens(argument.text) if argument else []


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _held(text: frozenset[str], heard: frozenset[str], near: float) -> bool:
    """Whether so much of a text was heard that it says nothing new."""
    return bool(text) and len(text & heard) >= near * len(text)
