"""The queries of TREC runs: each run's first documents and its scores on the query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad.files import BadLines
from touche_rad.score.retrieval import MEASURES, per_query, read_qrels, read_run

_SHOWN: Final = 10


def queries(runs: Sequence[tuple[str, Path]], qrels: Path | None, bad: BadLines) -> dict[str, Any]:
    """Collect the data of all queries.

    Args:
        runs: Names and paths of the runs.
        qrels: The relevant documents; without them, there are no scores.
        bad: What to do with bad lines.
    """
    relevance = read_qrels(qrels) if qrels else {}
    read = [read_run(path, bad) for _, path in runs]
    values = [per_query(relevance, run) if qrels else {} for run in read]
    order = {query: at for at, query in enumerate(relevance)}
    found = dict.fromkeys([*relevance, *(query for run in read for query in run)])
    return {
        "runs": [name for name, _ in runs],
        "measures": list(MEASURES) if qrels else [],
        "queries": [
            [
                query,
                sum(value > 0 for value in relevance.get(query, {}).values()),
                [
                    [
                        [of_run[measure][order[query]] for measure in MEASURES]
                        if query in order
                        else [],
                        [
                            [document, relevance.get(query, {}).get(document, 0)]
                            for document in _first(run.get(query, {}))
                        ],
                    ]
                    for run, of_run in zip(read, values, strict=True)
                ],
            ]
            for query in found
        ],
    }


def _first(scores: dict[str, float]) -> list[str]:
    """Return the first documents as trec_eval ranks them: by score, then by name, descending."""
    return sorted(scores, key=lambda one: (scores[one], one), reverse=True)[:_SHOWN]
