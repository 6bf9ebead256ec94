"""Score evaluations against labels (`official` has the official scores) and TREC runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from touche_rad import files
from touche_rad.errors import OptionError, UserError
from touche_rad.score.export import export
from touche_rad.score.health import health
from touche_rad.score.judgements import score_judgements
from touche_rad.score.official import write_prototext
from touche_rad.score.result import JudgementReport, ProblemKind, Report, RetrievalReport
from touche_rad.score.retrieval import score_retrieval

__all__ = [
    "JudgementReport", "ProblemKind", "Report", "RetrievalReport", "export", "health", "score",
    "score_judgements", "score_retrieval", "write_prototext",
]  # fmt: skip


def score(
    runs: Sequence[Path],
    truth: Path,
    *,
    strict: bool = False,
    samples: int = 10_000,
    seed: int = 0,
    debates: Path | None = None,
    baseline: Path | None = None,
    exclude: Path | None = None,
    bad: files.BadLines | None = None,
) -> Report:
    """Score evaluations against labels, or TREC runs against qrels.

    For whole debates use `touche_rad.contests.scoring.score_contests`.
    """
    kind = files.detect_kind(truth)
    if kind is files.Kind.LABELS:
        return score_judgements(
            runs, truth, strict=strict, samples=samples, seed=seed, debates=debates,
            baseline=baseline, exclude=exclude, bad=bad,
        )  # fmt: skip
    if kind is not files.Kind.QRELS:
        raise UserError(
            f"{truth} contains {kind}: the last file must be labels, qrels, contests or annotations"
        )
    if strict or debates is not None or exclude is not None:
        raise OptionError(
            "--strict, --debates and --exclude are for labels, and this file has qrels"
        )
    return score_retrieval(runs, truth, samples=samples, seed=seed, baseline=baseline)
