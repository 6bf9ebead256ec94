"""The pipelines that benchmarks/retrieval_quality.py compares, made of PyTerrier's operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyterrier as pt

from retrieval.dense.search import DenseSearch
from retrieval.fusion import TopicAgreement
from retrieval.searching import FieldSearch
from touche_rad.plugins import ArgumentIndex, Services, find

DEPTH: Final = 300
LEXICAL, DENSE_ALL, DENSE_TEXT = 0.35, 0.45, 0.20
"""What each search weighs in `about`, chosen on the split `train`."""

BLENDED: Final = (0.37, 0.19, 0.04, 0.32, 0.08)
"""What words, the untuned encoder over topic and text and over the text alone, and the tuned one
over both likewise weigh in `blended`, chosen on the claims of fold 1/4."""
AGREED: Final = 0.3
"""What the agreement of topics adds there."""

Made = Callable[[ArgumentIndex], Any]
MadeBy = Callable[[ArgumentIndex, str], Any]


def scaled(search: Any) -> Any:
    """Bring each query's scores to 0..1, so that they can be added."""
    return search >> pt.pipelines.PerQueryMaxMinScoreTransformer()  # type: ignore[no-untyped-call]


def linear(index: ArgumentIndex, encoder: str = "") -> Any:
    """Return BM25 and cosines over topic and text, added."""
    words = scaled(FieldSearch(index, "all", DEPTH))
    all_, text = (scaled(DenseSearch(index, field, DEPTH, encoder)) for field in ("all", "text"))
    return (LEXICAL * words) + (DENSE_ALL * all_) + (DENSE_TEXT * text)


def about(index: ArgumentIndex, encoder: str = "") -> Any:
    """Return what is about the same as the query: `linear`, and the agreement of topics.

    `encoder` says which vectors, where the index has several.
    """
    return (linear(index, encoder) % DEPTH) >> TopicAgreement(index)


def blended(index: ArgumentIndex, encoder: str, base: str = "minilm") -> Any:
    """Return `about` by a tuned encoder beside an untuned one, which is another or its own base.

    Each finds what the other misses; the index has the vectors of both.
    """
    fused = BLENDED[0] * scaled(FieldSearch(index, "all", DEPTH))
    searches = ((name, field) for name in (base, encoder) for field in ("all", "text"))
    for weight, (name, field) in zip(BLENDED[1:], searches, strict=True):
        fused = fused + weight * scaled(DenseSearch(index, field, DEPTH, name))
    return (fused % DEPTH) >> TopicAgreement(index, weight=AGREED)


def reciprocal(index: ArgumentIndex) -> Any:
    """Return BM25 and cosines over topic and text, fused by reciprocal rank (k = 60)."""
    from pyterrier_alpha import RRFusion

    return RRFusion(FieldSearch(index, "all", DEPTH), DenseSearch(index, "all", DEPTH), k=60)


def _field(field: str) -> Made:
    return lambda index: FieldSearch(index, field, DEPTH)


def _dense(field: str) -> Made:
    return lambda index: DenseSearch(index, field, DEPTH)


def _retriever(name: str, **options: str) -> Made:
    return lambda index: find("retriever", name).make(Services(index=index), options).pipeline(100)


def by_stance(index: ArgumentIndex, backend: str) -> Any:
    """Return the chained hybrid, reranked by a stance backend; as it is where none is named."""
    if not backend:
        return _retriever("chained")(index)
    return _retriever("stance", by=backend)(index)


HIDDEN: Final[dict[str, Made]] = {
    "BM25 text": _field("text"),
    "BM25 topic+text": _field("all"),
    "opposing": _retriever("opposing"),
    "dense text": _dense("text"),
    "dense topic+text": _dense("all"),
    "reciprocal rank": reciprocal,
    "linear": linear,
    "about": about,
}
"""For the tasks whose searcher sees topic and text alone."""
TUNED: Final[dict[str, MadeBy]] = {
    "dense text, tuned": lambda index, name: DenseSearch(index, "text", DEPTH, name),
    "dense topic+text, tuned": lambda index, name: DenseSearch(index, "all", DEPTH, name),
    "linear, tuned": linear,
    "about, tuned": about,
    "blended, tuned": blended,
}
"""Likewise, by an encoder of `touche-rad train encoder`."""
OPEN: Final[dict[str, Made]] = {
    "BM25 text": _field("text"),
    "BM25 attacks": _field("attacks"),
    "BM25 supports": _field("supports"),
    "dense attacks": _dense("attacks"),
    "opposing": _retriever("opposing"),
    "chain": _retriever("chain"),
    "hybrid": _retriever("hybrid"),
    "chained hybrid": _retriever("chained"),
    "chained hybrid, stance by rules": _retriever("stance", by="rules"),
}
"""For the tasks whose searcher sees every field."""
