"""The weights of the ranking, read from a file that says how they were got."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from touche_rad.debaters.grounded.features import NAMES
from touche_rad.errors import InputError, nearest

_OURS = "weights.json"


class Weights(BaseModel):
    """What each feature counts, and how that was found out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    made: str
    fitted: Mapping[str, float]
    """Learnt from turns that people read."""
    given: Mapping[str, float]
    """Set by hand: faults of form and repetition, which are rare and always bad."""

    @cached_property
    def every(self) -> dict[str, float]:
        """All weights by feature."""
        return {**self.fitted, **self.given}

    def score(self, features: Mapping[str, float]) -> float:
        """Return the weighted sum; a feature without a weight counts nothing."""
        every = self.every
        return sum(every.get(name, 0.0) * value for name, value in features.items())

    def parts(self, features: Mapping[str, float]) -> dict[str, float]:
        """Return what each feature adds to the score."""
        every = self.every
        return {name: every.get(name, 0.0) * value for name, value in features.items()}


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
    for name in read.every:
        if name not in NAMES:
            expected = f"the name of a feature{nearest(name, NAMES)}, got {name!r}"
            raise InputError(str(source), expected, field="fitted or given")
    return read
