"""The pipelines that `quality.py retrieval` compares, built from PyTerrier's operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyterrier as pt

from retrieval.dense.search import DenseRetriever
from retrieval.retrievers import TextRetriever
from touche_rad.plugins import ArgumentIndex, Services, find

DEPTH: Final = 300
LEXICAL, DENSE_ALL, DENSE_TEXT = 0.35, 0.45, 0.20
"""Weights of the three searches in `about`, tuned on the split `train`."""

BLENDED: Final = (0.37, 0.19, 0.04, 0.32, 0.08)
"""Weights in `blended`, tuned on fold 1/4: BM25, the untuned encoder on topic and text and on text
alone, then the tuned encoder on both."""
AGREED: Final = 0.3
"""Weight of the topic agreement in `blended`."""

Pipeline = Callable[[ArgumentIndex], Any]
ModelPipeline = Callable[[ArgumentIndex, str], Any]


class AllRetriever(TextRetriever):
    """BM25 over topic, text and claims."""

    field = "all"


def words_of(index: ArgumentIndex, field: str = "all") -> Any:
    """Return BM25 over a field."""
    if field == "all":
        return AllRetriever(None, Services(index=index)).pipeline(DEPTH)
    name = {"attacks": "attack", "supports": "support"}.get(field, field)
    return find("retriever", name).make(Services(index=index)).pipeline(DEPTH)


def near(index: ArgumentIndex, field: str, encoder: str = "") -> Any:
    """Return the search by the vectors of a field."""
    options = DenseRetriever.Options(field=field, encoder=encoder)
    return DenseRetriever(options, Services(index=index)).pipeline(DEPTH)


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


def scaled(search: Any) -> Any:
    """Scale the scores of each query to 0..1, so that they can be added."""
    return search >> pt.pipelines.PerQueryMaxMinScoreTransformer()  # type: ignore[no-untyped-call]


def linear(index: ArgumentIndex, encoder: str = "") -> Any:
    """Return the weighted sum of BM25 and cosine similarity on topic and text."""
    words = scaled(words_of(index))
    all_, text = (scaled(near(index, field, encoder)) for field in ("all", "text"))
    return (LEXICAL * words) + (DENSE_ALL * all_) + (DENSE_TEXT * text)


def about(index: ArgumentIndex, encoder: str = "") -> Any:
    """Return `linear`, reranked by topic agreement.

    `encoder` names the vectors to use if the index has several.
    """
    return (linear(index, encoder) % DEPTH) >> TopicAgreement(index)


def blended(index: ArgumentIndex, encoder: str, base: str = "minilm") -> Any:
    """Return `about` with a tuned and an untuned encoder; the index has the vectors of both."""
    fused = BLENDED[0] * scaled(words_of(index))
    searches = ((name, field) for name in (base, encoder) for field in ("all", "text"))
    for weight, (name, field) in zip(BLENDED[1:], searches, strict=True):
        fused = fused + weight * scaled(near(index, field, name))
    return (fused % DEPTH) >> TopicAgreement(index, weight=AGREED)


def reciprocal(index: ArgumentIndex) -> Any:
    """Return BM25 and cosine similarity on topic and text, fused by reciprocal rank (k = 60)."""
    from pyterrier_alpha import RRFusion

    return RRFusion(words_of(index), near(index, "all"), k=60)


def _field(field: str) -> Pipeline:
    return lambda index: words_of(index, field)


def _dense(field: str) -> Pipeline:
    return lambda index: near(index, field)


def _retriever(name: str, **options: str) -> Pipeline:
    return lambda index: find("retriever", name).make(Services(index=index), options).pipeline(100)


HIDDEN: Final[dict[str, Pipeline]] = {
    "BM25 text": _field("text"),
    "BM25 topic+text": _field("all"),
    "opposing": _retriever("opposing"),
    "dense text": _dense("text"),
    "dense topic+text": _dense("all"),
    "reciprocal rank": reciprocal,
    "linear": linear,
    "about": about,
}
"""For the tasks in which only topic and text are searched."""
TUNED: Final[dict[str, ModelPipeline]] = {
    "dense text, tuned": lambda index, name: near(index, "text", name),
    "dense topic+text, tuned": lambda index, name: near(index, "all", name),
    "linear, tuned": linear,
    "about, tuned": about,
    "blended, tuned": blended,
}
"""The same tasks, with an encoder of `touche-rad train encoder`."""
OPEN: Final[dict[str, Pipeline]] = {
    "BM25 text": _field("text"),
    "BM25 attacks": _field("attacks"),
    "BM25 supports": _field("supports"),
    "dense attacks": _dense("attacks"),
    "opposing": _retriever("opposing"),
    "chain": _retriever("chain"),
    "hybrid": _retriever("hybrid"),
}
"""For the tasks in which every field is searched."""


def short_name(name: str) -> str:
    """Return a backend's name without the path or the owner of its model."""
    kind, colon, place = name.partition(":")
    return kind + colon + (Path(place).name if colon else "")


def stance_pipelines(names: Sequence[str]) -> dict[str, Pipeline]:
    """Return the hybrid reranked by each backend."""
    return {
        f"hybrid, stance by {short_name(name)}": _retriever("stance", by=name) for name in names
    }
