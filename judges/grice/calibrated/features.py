"""What the combiner is given of a turn."""

from __future__ import annotations

import math
from collections.abc import Mapping

from judges.grice.calibrated.combiner import logit
from touche_rad.debate import Debate, Maxim, Verdicts
from touche_rad.text import count_words, sentences

MODEL = "model"
FREE = ("quantity", "quality", "relation", "manner", "length", "sentences", "cited")


def features(
    view: Debate, seen: Verdicts, likely: Mapping[Maxim, float] | None
) -> dict[Maxim, dict[str, float]]:
    """Return each maxim's features: the model-free judge's word on all, the model's on this one."""
    response = view.last.response
    assert response is not None
    words = count_words(response.content)
    common = {maxim.value: logit(seen[maxim].score or 0.0) for maxim in Maxim}
    common["length"] = math.log1p(words) - math.log1p(40)
    common["sentences"] = len(sentences(response.content)) - 2.0
    common["cited"] = float(min(2, len(response.arguments)) - 1)
    if likely is None:
        return {maxim: dict(common) for maxim in Maxim}
    return {maxim: {**common, MODEL: logit(likely[maxim])} for maxim in Maxim}
