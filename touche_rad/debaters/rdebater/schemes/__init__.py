"""R-Debater's argumentation schemes: kinds of reasoning in a text, and how well it uses them."""

from touche_rad.debaters.rdebater.schemes._annotating import SCHEMES, SchemeAnnotator
from touche_rad.debaters.rdebater.schemes.vocabulary import (
    Annotation,
    Dimension,
    Level,
    Mark,
    Scheme,
    collapsed,
)

__all__ = [
    "SCHEMES",
    "Annotation",
    "Dimension",
    "Level",
    "Mark",
    "Scheme",
    "SchemeAnnotator",
    "collapsed",
]
