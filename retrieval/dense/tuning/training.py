"""The trainer `encoder`: a collection in, an encoder of its claims and arguments out.

The folder is a sentence-transformers model beside what `touche-rad train` always leaves: what the
training was begun with, metrics, a card and a report.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.course import Course, Lesson, Taught
from retrieval.dense.encoders import SentenceEncoder
from retrieval.dense.tuning.batches import usable
from retrieval.dense.tuning.gain import measured
from retrieval.dense.tuning.learning import Recipe, learn
from retrieval.unseen import Unseen
from touche_rad.errors import UserError


class Report(BaseModel):
    """What a tuned encoder is, and what tuning gained on topics that it never saw."""

    model_config = ConfigDict(frozen=True)

    base: str
    collection: str
    held_out: str
    """`test`, or the fold of the topics that it never saw."""
    trained_on: int
    tested_on: int
    steps: int
    measured: dict[str, dict[str, float]]
    recipe: dict[str, Any]

    def saw(self, topic: str) -> bool:
        """Whether a topic was among those that were learnt from."""
        return topic not in Unseen.named(self.held_out)


def report_of(folder: Path) -> Report:
    """Return the report of a tuned encoder."""
    try:
        return Report.model_validate(json.loads((folder / "report.json").read_text("utf-8")))
    except (OSError, ValueError, ValidationError):
        raise UserError(f"{folder}: no encoder of touche-rad train encoder") from None


def _taught(lesson: Lesson[Recipe]) -> Taught:
    """Train, and measure before and after."""
    recipe, learnt, out = lesson.recipe, lesson.learnt, lesson.held_out
    encoder = SentenceEncoder(recipe.base, lesson.place)
    encoder.model.float()  # half precision, in which many are stored, is too coarse to learn in
    before = lesson.before(lambda: measured(encoder, out, learnt, recipe.halved))
    steps = learn(encoder.model, lesson)
    after = measured(encoder, out, learnt, recipe.halved)
    gain = {name: {"before": before[name], "after": after[name]} for name in after}
    return Taught(encoder.model, steps, {"measured": gain})


train_encoder: Final = Course(
    method="encoder", recipe=Recipe, usable=usable, teach=_taught, report=Report, card=__package__
)
