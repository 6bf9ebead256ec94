"""Correlations of two series of grades."""

from __future__ import annotations

from collections.abc import Sequence

MEASURES = ("pearson", "spearman", "kendall")


def correlations(grades: Sequence[float], gold: Sequence[float]) -> dict[str, float | None]:
    """Pearson, Spearman and Kendall's tau-b by scipy; None if one of the series is constant."""
    if len(grades) < 3 or len(set(grades)) < 2 or len(set(gold)) < 2:
        return dict.fromkeys(MEASURES)
    from scipy import stats

    measures = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    return {
        name: float(measure(grades, gold).statistic)
        for name, measure in zip(MEASURES, measures, strict=True)
    }
