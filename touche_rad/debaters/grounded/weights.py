"""The weights of the ranking, read from a file that says how they were got."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from touche_rad.debaters.grounded.features import AGAINST, NAMES
from touche_rad.debaters.grounded.meaning import MEANT
from touche_rad.errors import InputError, nearest

_OURS = "weights.json"
_KNOWN = (*NAMES, *MEANT, AGAINST)


class Weights(BaseModel):
    """What each feature counts, and how that was found out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    made: str
    fitted: Mapping[str, float]
    """Learnt from turns whose candidates were read."""
    given: Mapping[str, float]
    """Set by hand: faults of form and repetition, which are rare and always bad; and what a stance
    model's word counts, where one is asked."""

    meant: Mapping[str, float] = {}
    """Learnt likewise, in place of `fitted` where the index has vectors; none: `fitted` holds."""

    @cached_property
    def _known(self) -> dict[bool, dict[str, float]]:
        words = {**self.fitted, **self.given}
        return {False: words, True: {**self.meant, **self.given} if self.meant else words}

    @property
    def named(self) -> set[str]:
        """Every feature that has a weight."""
        return {*self.fitted, *self.given, *self.meant}

    def of(self, features: Mapping[str, float]) -> dict[str, float]:
        """Return the weights that hold for a candidate's features, 0 where there is none."""
        weight = self._known[MEANT[0] in features]
        return {name: weight.get(name, 0.0) for name in features}

    def score(self, features: Mapping[str, float]) -> float:
        """Return the weighted sum."""
        weight = self.of(features)
        return sum(weight[name] * value for name, value in features.items())


def weights(path: Path | None = None) -> Weights:
    """Read weights from a file, or the ones that come with the package."""
    source = files(__package__).joinpath(_OURS) if path is None else path
    try:
        read = Weights.model_validate(json.loads(source.read_text("utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        expected = f"weights as in {_OURS}: {first['msg']}"
        raise InputError(str(source), expected, field=field) from None
    except (OSError, ValueError) as error:
        raise InputError(str(source), f"a JSON file of weights, as in {_OURS}: {error}") from None
    for name in sorted(read.named):
        if name not in _KNOWN:
            expected = f"the name of a feature{nearest(name, _KNOWN)}, got {name!r}"
            raise InputError(str(source), expected, field="fitted, given or meant")
    return read
