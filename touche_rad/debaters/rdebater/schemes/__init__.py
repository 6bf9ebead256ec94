"""Argumentation schemes: the kinds of reasoning that a text uses, and how well it uses them.

The seven schemes, four dimensions and levels are those of R-Debater. `SchemeAnnotator` annotates
the arguments of an index with them (`touche-rad index --annotate schemes`).
"""

from touche_rad.debaters.rdebater.schemes.annotating import SCHEMES, SchemeAnnotator
from touche_rad.debaters.rdebater.schemes.vocabulary import (
    Aggregation,
    Annotation,
    Dimension,
    Level,
    Mark,
    Scheme,
    collapsed,
)

__all__ = [
    "SCHEMES",
    "Aggregation",
    "Annotation",
    "Dimension",
    "Level",
    "Mark",
    "Scheme",
    "SchemeAnnotator",
    "collapsed",
]
