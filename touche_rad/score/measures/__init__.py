"""One file per measure, each with its formula.

Precision, recall and F1 follow the official scorer step by step, so that the last digit agrees: a
score of at least 0.5 means yes, a missing verdict means no, turns without a label are left out, and
a measure is 0 if there is no true positive. F1 of "yes" rewards a judge that always says yes; kappa
and Matthews' correlation are 0 for it.
"""

from touche_rad.score.measures._correlation import correlations
from touche_rad.score.measures._counts import Counts, count, says_yes
from touche_rad.score.measures.accuracy import accuracy
from touche_rad.score.measures.alpha import alpha
from touche_rad.score.measures.f1 import f1
from touche_rad.score.measures.hamming import hamming
from touche_rad.score.measures.jaccard import jaccard
from touche_rad.score.measures.kappa import kappa
from touche_rad.score.measures.mcc import mcc
from touche_rad.score.measures.precision import precision
from touche_rad.score.measures.recall import recall
from touche_rad.score.measures.yes_rate import label_rate, yes_rate

__all__ = [
    "Counts",
    "accuracy",
    "alpha",
    "correlations",
    "count",
    "f1",
    "hamming",
    "jaccard",
    "kappa",
    "label_rate",
    "mcc",
    "precision",
    "recall",
    "says_yes",
    "yes_rate",
]
