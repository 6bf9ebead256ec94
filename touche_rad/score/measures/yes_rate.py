"""How often the judge and the labels say yes."""

from touche_rad.score.measures._counts import Counts


def yes_rate(counts: Counts) -> float | None:
    """The share of labelled turns with the verdict yes: (TP + FP) / all."""
    return (counts.tp + counts.fp) / counts.labelled if counts.labelled else None


def label_rate(counts: Counts) -> float | None:
    """The share of labelled turns with the label yes: (TP + FN) / all."""
    return (counts.tp + counts.fn) / counts.labelled if counts.labelled else None
