"""Argumentation schemes: what kinds of reasoning a text uses, and how well it uses them.

The seven schemes, the four dimensions and the levels are those of R-Debater. Whoever keeps
annotations (an index's memory) and whoever uses them (a debater) shares this vocabulary.
"""

from touche_rad.debaters.rdebater.schemes.annotating import Annotator, Cost, Profile
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
    "Aggregation", "Annotation", "Annotator", "Cost", "Dimension", "Level", "Mark", "Profile",
    "Scheme", "collapsed",
]  # fmt: skip
