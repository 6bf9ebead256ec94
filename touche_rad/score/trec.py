"""TREC runs and qrels, by query, as ir-measures takes them."""

from __future__ import annotations

from pathlib import Path

from touche_rad import files

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def read_qrels(path: Path) -> Qrels:
    """Read qrels: by query and document, the relevance."""
    judged: Qrels = {}
    for row in files.read_qrels(path):
        judged.setdefault(row.query, {})[row.document] = row.relevance
    return judged


def read_run(path: Path) -> Run:
    """Read a run: by query and document, the score. The ranks follow from the scores."""
    found: Run = {}
    for row in files.read_run(path):
        found.setdefault(row.query, {})[row.document] = row.score
    return found
