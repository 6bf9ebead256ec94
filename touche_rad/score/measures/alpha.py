"""Krippendorff's alpha."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence


def alpha(units: Iterable[Sequence[object]]) -> float | None:
    """Agreement of any number of annotators on nominal values: 1 - D_o / D_e.

    D_o is the observed disagreement within units, D_e that expected by chance (Krippendorff 2011);
    None if all values are equal. The library krippendorff has the GPL and our licence is Apache
    2.0, so only the tests use it.

    Args:
        units: The values that the annotators gave to each unit. Units with one value do not count.
    """
    together: dict[tuple[object, object], float] = defaultdict(float)
    for values in units:
        counts = Counter(values)
        for one, times in counts.items():
            for other, often in counts.items():
                pairs = times * (often - (one == other))
                together[one, other] += pairs / (len(values) - 1) if pairs else 0
    totals: dict[object, float] = defaultdict(float)
    for (one, _), weight in together.items():
        totals[one] += weight
    everything = sum(totals.values())
    expected = everything**2 - sum(total**2 for total in totals.values())
    observed = sum(weight for (one, other), weight in together.items() if one != other)
    return 1 - (everything - 1) * observed / expected if expected else None
