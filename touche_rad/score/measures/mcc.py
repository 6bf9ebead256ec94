"""Matthews' correlation coefficient."""

from math import sqrt

from touche_rad.score.measures._counts import Counts


def mcc(counts: Counts) -> float | None:
    """The correlation of labels and verdicts, from -1 to 1; 0 if either is constant.

    (TP TN - FP FN) / sqrt((TP + FP) (TN + FN) (TP + FN) (TN + FP)), Matthews 1975.
    """
    if not counts.labelled:
        return None
    predicted = (counts.tp + counts.fp) * (counts.tn + counts.fn)
    labelled = (counts.tp + counts.fn) * (counts.tn + counts.fp)
    if not predicted or not labelled:
        return 0.0
    return (counts.tp * counts.tn - counts.fp * counts.fn) / sqrt(predicted * labelled)
