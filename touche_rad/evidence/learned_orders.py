"""How much the words of a sentence make it an injected order, by learned weights.

benchmarks/tools/train_orders.py writes the weights.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import pairwise

SURE = 75
"""Score from which a sentence is an order. Scores are whole numbers, so that the order of a sum,
which differs between processes, changes nothing."""
LIKELY = -50
"""Score from which it is one if other marks say so too."""
_TOKEN = re.compile(r"[a-z']*[a-z][a-z']*|[^\W\d_]+")
_SHORT = 4
"""Letters of the beginning of a word, which stands for its forms."""


def features(text: str) -> frozenset[str]:
    """Return the words of a text, the beginnings of long words, and pairs of neighbours."""
    said = _TOKEN.findall(text.lower())
    starts = (f"{word[:_SHORT]}*" for word in said if len(word) > _SHORT)
    pairs = (f"{one} {other}" for one, other in pairwise(said))
    return frozenset((*said, *starts, *pairs))


def score(text: str) -> tuple[int, tuple[str, ...]]:
    """Return the score of a sentence, and the features that speak for an order, the best first."""
    known = weights()
    found = {one: known[one] for one in features(text) if one in known}
    best = sorted((one for one in found if found[one] > 0), key=lambda one: (-found[one], one))
    return known[""] + sum(found.values()), tuple(best)


@cache
def weights() -> dict[str, int]:
    """Return the weights of features in hundredths, and the bias of the empty one."""
    text = files(__package__).joinpath("orders.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {feature: int(weight) for feature, weight in rows}
