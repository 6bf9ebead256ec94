"""Combine result lists, and rerank by agreement of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from touche_rad.debate import Hit
from touche_rad.plugins import ArgumentIndex


def reciprocal_rank(
    lists: Sequence[Sequence[Hit]], weights: Sequence[float], k: float
) -> list[Hit]:
    """Fuse by reciprocal rank: each list adds weight / (k + rank), ranks counted from 1.

    A list with weight 0 adds nothing, not even hits that no other list has.
    """
    scores: dict[str, float] = {}
    first: dict[str, Hit] = {}
    for hits, weight in zip(lists, weights, strict=True):
        for rank, hit in enumerate(hits if weight else (), 1):
            scores[hit.argument.id] = scores.get(hit.argument.id, 0.0) + weight / (k + rank)
            first.setdefault(hit.argument.id, hit)
    return ranked([first[id_].model_copy(update={"score": score}) for id_, score in scores.items()])


def ranked(hits: Sequence[Hit]) -> list[Hit]:
    """Sort by score, then id, and set the ranks from 0."""
    ordered = sorted(hits, key=lambda hit: (-hit.score, hit.argument.id))
    return [hit.model_copy(update={"rank": rank}) for rank, hit in enumerate(ordered)]


def best_of(hits: Sequence[Hit]) -> list[Hit]:
    """Keep the best hit of each argument, sorted."""
    best: dict[str, Hit] = {}
    for hit in hits:
        known = best.get(hit.argument.id)
        if known is None or hit.score > known.score:
            best[hit.argument.id] = hit
    return ranked(list(best.values()))


def scaled(hits: Sequence[Hit]) -> list[Hit]:
    """Divide the scores by the best one, to make lists of several searches comparable."""
    top = max((hit.score for hit in hits), default=0.0)
    if top <= 0:
        return list(hits)
    return [hit.model_copy(update={"score": hit.score / top}) for hit in hits]


class TopicAgreement(pt.Transformer):
    """Adds to a document's score the share of the best documents that are about its topic.

    The best documents vote for their topics, higher scores with more weight. Together they show
    what a query is about when no single one does.
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

    def transform(self, inp: Any) -> Any:
        """Rerank each query's documents; further columns are kept."""
        pt.validate.result_frame(inp, extra_columns=["query"], context=self)
        if not len(inp):
            return inp.assign(score=pd.Series(dtype=float), rank=pd.Series(dtype=int))
        parts = [
            self._rerank(part.reset_index(drop=True)) for _, part in inp.groupby("qid", sort=False)
        ]
        return pt.model.add_ranks(pd.concat(parts, ignore_index=True))

    def _rerank(self, part: Any) -> Any:
        scores = part["score"].to_numpy(dtype=float)
        arguments = [self.index.get(docno) for docno in part["docno"]]
        topics = [argument.topic if argument else "" for argument in arguments]
        best = np.argsort(-scores, kind="stable")[: self.top]
        votes = np.exp((scores[best] - scores.max()) / self.temperature)
        share: dict[str, float] = {}
        for place, vote in zip(best, votes / votes.sum(), strict=True):
            share[topics[place]] = share.get(topics[place], 0.0) + float(vote)
        added = np.array([share.get(topic, 0.0) for topic in topics])
        return part.assign(score=scores + self.weight * added)
