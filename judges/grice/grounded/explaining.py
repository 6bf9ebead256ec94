"""What decides each verdict of the judge `grounded`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judges.grice.grounded.judge import manner_features, quantity_features
from judges.grice.grounded.relation import relation_features
from judges.grice.grounded.scene import BIAS, Feature, Scene, quote_short, weights
from touche_rad import plugins
from touche_rad.debate import Maxim
from touche_rad.evidence.findings import Finding, score
from touche_rad.plugins import ExplainedVerdict

_SUM = "the logistic function of the sum of the features"
_WEAKEST = "the score of the weakest sentence; 0.5 and more means yes"


def explain(scene: Scene, found: Sequence[Finding]) -> dict[Maxim, ExplainedVerdict]:
    """Return the features of each verdict; an empty response has none."""
    quality = {
        f"sentence {number}": plugins.Feature(
            round(score(one.support), 4),
            phrase=f"{quote_short(one.sentence.text)}: {one.support.why}",
        )
        for number, one in enumerate(found, 1)
    }
    explained = {Maxim.QUALITY: ExplainedVerdict(_WEAKEST, quality)}
    if not scene.response.tokens:
        return explained
    return explained | {
        Maxim.QUANTITY: _weighted(quantity_features(scene, found), weights().quantity),
        Maxim.RELATION: _weighted(relation_features(scene, found), weights().relation),
        Maxim.MANNER: _weighted(manner_features(scene), weights().manner),
    }


def _weighted(features: Sequence[Feature], weigh: Mapping[str, float]) -> ExplainedVerdict:
    parts = {one.name: plugins.Feature(one.value, weigh[one.name], one.rationale)
             for one in features}  # fmt: skip
    bias = plugins.Feature(1.0, weigh[BIAS], "this is the constant of the sum")
    return ExplainedVerdict(_SUM, {**parts, BIAS: bias})
