"""What tuning has gained: claims of topics that were never seen, searched before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from retrieval.dense.encoders import SentenceEncoder
from retrieval.dense.tuning.batches import shown
from retrieval.fields import ALL
from retrieval.tasks import HIDDEN, Task, Topic, topics
from touche_rad.debate import Argument

SEARCHED: Final = 10_000
"""The most arguments that are searched; those held out come first."""
ASKED: Final = 1_000
"""The most claims of a task that are asked."""


def measured(
    encoder: SentenceEncoder,
    held_out: Sequence[Argument],
    others: Sequence[Argument],
    halved: bool,
) -> dict[str, float]:
    """Return nDCG@10 and recall of an exact search over topic and text, claims hidden.

    Half the precision where training takes it: encoding is most of the work here too.
    """
    import torch

    with torch.autocast(encoder.model.device.type, torch.bfloat16, enabled=halved):
        return _measured(encoder, held_out, others)


def _measured(
    encoder: SentenceEncoder, held_out: Sequence[Argument], others: Sequence[Argument]
) -> dict[str, float]:
    import ir_measures
    from ir_measures import R, nDCG

    searched = [*held_out, *others][:SEARCHED]
    vectors = encoder.passages([shown(one, ALL) for one in searched])
    found: dict[str, float] = {}
    for kind in HIDDEN:
        queries = topics(held_out, Task(kind))[:ASKED]
        run = list(_run(encoder, queries, searched, vectors))
        qrels = [ir_measures.Qrel(one.qid, docno, 1) for one in queries for docno in one.relevant]
        measures = (nDCG @ 10, R @ 10)
        values = ir_measures.calc_aggregate(measures, qrels, run)
        for one in measures:  # in this order: that of `values` is chance
            found[f"{kind} {one}"] = round(float(values[one]), 4)
    return found


def _run(
    encoder: SentenceEncoder, queries: Sequence[Topic], searched: Sequence[Argument], vectors: Any
) -> Any:
    import ir_measures

    cosines = encoder.queries([one.query for one in queries]) @ vectors.T
    for one, row in zip(queries, cosines, strict=True):
        itself = set(one.itself) - set(one.relevant)
        for place in np.argsort(-row, kind="stable")[: 10 + len(itself)]:
            if searched[place].id not in itself:
                yield ir_measures.ScoredDoc(one.qid, searched[place].id, float(row[place]))
