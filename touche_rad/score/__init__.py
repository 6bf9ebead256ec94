"""Score evaluations against labels, and TREC runs against qrels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.errors import UserError
from touche_rad.runs.work import Progress
from touche_rad.samples import SAMPLES
from touche_rad.score.export import export
from touche_rad.score.judgements import score_judgements
from touche_rad.score.naming import Runs
from touche_rad.score.reference import DEFAULT_POLICY, Policy
from touche_rad.score.reports import JudgementReport, Report, RetrievalReport
from touche_rad.score.result import ProblemKind
from touche_rad.score.retrieval import is_public, score_retrieval

__all__ = [
    "JudgementReport",
    "Policy",
    "ProblemKind",
    "Report",
    "RetrievalReport",
    "export",
    "kind_of",
    "score",
    "score_judgements",
    "score_retrieval",
]


def kind_of(truth: Path) -> files.Kind:
    """Return what a truth is; `irds:NAME/qrels` are the qrels of a dataset of ir_datasets."""
    return files.Kind.QRELS if is_public(truth) else files.detect_kind(truth)


def score(
    runs: Runs,
    truth: Path,
    *,
    criteria: Criteria | None = None,
    policy: Policy = DEFAULT_POLICY,
    compare: bool = True,
    samples: int = SAMPLES,
    seed: int = 0,
    baselines: Sequence[Path] = (),
    exclude: Path | None = None,
    bad: files.BadLines | None = None,
    progress: Progress | None = None,
    measures: Sequence[str] = (),
) -> JudgementReport | RetrievalReport:
    """Score evaluations against labels, or TREC runs against qrels.

    The runs are files by name, or are named after them; `measures` are for TREC runs. For whole
    debates use `touche_rad.contests.scoring.score_contests`.
    """
    how: dict[str, Any] = {
        "compare": compare,
        "samples": samples,
        "seed": seed,
        "baselines": baselines,
        "bad": bad,
        "progress": progress,
    }
    kind = kind_of(truth)
    if kind is files.Kind.LABELS:
        return score_judgements(
            runs, truth, criteria=criteria, policy=policy, exclude=exclude, **how
        )
    if kind is not files.Kind.QRELS:
        raise UserError(
            f"{truth} contains {kind}: the last file must be labels, qrels, contests, annotations, "
            "or one of the evaluations (touche-rad judge makes them), for their shares of yes"
        )
    return score_retrieval(runs, truth, measures=measures, **how)
