"""The trainer `encoder`: a collection in, an encoder of its claims and arguments out.

The folder is a sentence-transformers model beside what `touche-rad train` always leaves: what the
training was begun with, metrics, a card and a report.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.dense.encoders import SentenceEncoder, minilm_folder
from retrieval.dense.tuning.batches import usable
from retrieval.dense.tuning.gain import measured
from retrieval.dense.tuning.learning import Recipe, learn
from retrieval.store import digest
from retrieval.unseen import Unseen
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.training import beside
from touche_rad.training.card import versions, write_card
from touche_rad.training.folder import Folder
from touche_rad.training.recipe import checked


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


def train_encoder(
    collection: Path,
    out: Path,
    *,
    held_out: str = "test",
    restart: bool = False,
    report: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> Mapping[str, Any]:
    """Tune an encoder, or go on with it, and return its report."""
    recipe, unseen = checked(Recipe, settings), Unseen.named(held_out)
    arguments = list(files.read_arguments(collection))
    course = _Course(arguments, collection.name, digest(arguments), recipe, unseen)
    folder = Folder(out)
    with folder.alone():
        goes_on = folder.take_up(course.identity, restart=restart)
        if not goes_on:
            beside.clear(out)
        done = folder.finished()
        if done is None:
            done = course.run(folder, report)
        return {**done, "resumed": goes_on}


@dataclass(frozen=True)
class _Course:
    arguments: Sequence[Argument]
    source: str
    collection: str
    recipe: Recipe
    unseen: Unseen

    @property
    def identity(self) -> dict[str, Any]:
        """All that must be the same where a training goes on."""
        return {
            "method": "encoder", "recipe": self.recipe.model_dump(),
            "collection": self.collection, "held_out": str(self.unseen),
        }  # fmt: skip

    def run(self, folder: Folder, report: Callable[[int, int], None] | None) -> dict[str, Any]:
        """Train, measure before and after, and write the model."""
        learnt, out = self.unseen.part(usable(self.arguments))
        base = self.recipe.base
        encoder = SentenceEncoder(base, minilm_folder(base) if base == "minilm" else base)
        halved = self.recipe.halved
        before = beside.before(folder.root, lambda: measured(encoder, out, learnt, halved))
        steps = learn(encoder.model, self.recipe, learnt, folder, report)
        after = measured(encoder, out, learnt, halved)
        gain = {name: {"before": before[name], "after": after[name]} for name in after}
        told = Report(
            base=base, collection=self.collection, held_out=str(self.unseen),
            trained_on=len(learnt), tested_on=len(out), steps=steps, measured=gain,
            recipe=self.recipe.model_dump(),
        ).model_dump()  # fmt: skip
        beside.save(encoder.model, folder.root)
        data = [{"file": self.source, "records": len(self.arguments), "sha256": self.collection}]
        write_card(
            folder.card, template=__package__, name=folder.root.name, data=data, told=told,
            versions=versions("sentence-transformers"), place=str(folder.root),
        )  # fmt: skip
        folder.finish(told)
        shutil.rmtree(folder.checkpoints, ignore_errors=True)
        return told
