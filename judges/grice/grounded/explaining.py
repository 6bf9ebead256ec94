"""What decides each verdict of the judge `grounded`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judges.grice.grounded.scene import BIAS, Feature, quote_short
from touche_rad import plugins
from touche_rad.debate import Maxim
from touche_rad.evidence.findings import Finding, score
from touche_rad.plugins import ExplainedVerdict

_SUM = "the logistic function of the sum of the features"
_WEAKEST = "the score of the weakest sentence; 0.5 and more means yes"


Parts = Mapping[Maxim, tuple[Sequence[Feature], Mapping[str, float]]]
"""The features and weights of the maxims that are sums; none for an empty response."""


def explain(found: Sequence[Finding], parts: Parts) -> dict[Maxim, ExplainedVerdict]:
    """Return the features of each verdict."""
    quality = {
        f"sentence {number}": plugins.Feature(
            round(score(one.support), 4),
            phrase=f"{quote_short(one.sentence.text)}: {one.support.why}",
        )
        for number, one in enumerate(found, 1)
    }
    sums = {maxim: _weighted(features, weigh) for maxim, (features, weigh) in parts.items()}
    return {Maxim.QUALITY: ExplainedVerdict(_WEAKEST, quality), **sums}


def _weighted(features: Sequence[Feature], weigh: Mapping[str, float]) -> ExplainedVerdict:
    parts = {
        one.name: plugins.Feature(one.value, weigh[one.name], one.rationale) for one in features
    }
    bias = plugins.Feature(1.0, weigh[BIAS], "this is the constant of the sum")
    return ExplainedVerdict(_SUM, {**parts, BIAS: bias})
