"""The trainer `stance`: a collection in, a model of which claim a text attacks out.

From each argument come two pairs: its text with the claim it supports, and with the one it attacks.
Whole topics are held out, and beside the accuracy on them stand the base's own and two lines that
need no understanding: chance, and a model that learnt alike from the claims alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval.dense.encoders import minilm_folder
from retrieval.stance.gain import ALL, ORIGINS, measured
from retrieval.stance.head import Begun, one_row
from retrieval.stance.learning import Recipe, learn, usable
from retrieval.stance.nli import cross_encoder
from retrieval.stance.trained import Report
from retrieval.store import digest
from retrieval.unseen import Unseen
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.training import beside
from touche_rad.training.card import versions, write_card
from touche_rad.training.folder import Folder
from touche_rad.training.recipe import checked

Progress = Callable[[int, int], None]


def train_stance(
    collection: Path,
    out: Path,
    *,
    held_out: str = "test",
    restart: bool = False,
    report: Progress | None = None,
    **settings: Any,
) -> Mapping[str, Any]:
    """Train a stance model, or go on with it, and return its report."""
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
            "method": "stance", "recipe": self.recipe.model_dump(),
            "collection": self.collection, "held_out": str(self.unseen),
        }  # fmt: skip

    def run(self, folder: Folder, report: Progress | None) -> dict[str, Any]:
        """Train, with the text and without, measure before and after, and write the model."""
        learnt, out = self.unseen.part(usable(self.arguments))
        model, begun = self._base()
        known = {"before": beside.before(folder.root, lambda: measured(model, out))}
        steps = learn(model, self.recipe, learnt, folder, _part(report, 0))
        known["after"] = measured(model, out)
        blind, _ = self._base()
        learn(blind, self.recipe, learnt, _without_text(folder), _part(report, 1), text=False)
        known["claim_only"] = measured(blind, out, text=False)
        told = Report(
            base=self.recipe.base, begun=begun, collection=self.collection,
            held_out=str(self.unseen), trained_on=len(learnt), tested_on=len(out), steps=steps,
            before=known["before"][ALL], after=known["after"][ALL],
            claim_only=known["claim_only"][ALL],
            by_origin={one: {name: row[one] for name, row in known.items()} for one in ORIGINS},
            recipe=self.recipe.model_dump(),
        ).model_dump()  # fmt: skip
        beside.save(model, folder.root)
        data = [{"file": self.source, "records": len(self.arguments), "sha256": self.collection}]
        write_card(
            folder.card, template=__package__, name=folder.root.name, data=data, told=told,
            versions=versions("sentence-transformers"), place=str(folder.root),
        )  # fmt: skip
        folder.finish(told)
        shutil.rmtree(folder.checkpoints, ignore_errors=True)
        return told

    def _base(self) -> tuple[Any, Begun]:
        """Return the base with one row, the same each time, in whole precision to learn."""
        import torch

        torch.manual_seed(self.recipe.seed)
        base = self.recipe.base
        model = cross_encoder(minilm_folder(base) if base == "minilm" else base).float()
        return model, one_row(model.model, base)


def _without_text(folder: Folder) -> Folder:
    """Return where the model of the claims alone has its checkpoints; nothing of it is kept."""
    found = Folder(folder.checkpoints / "claim_only")
    found.root.mkdir(parents=True, exist_ok=True)
    return found


def _part(report: Progress | None, number: int) -> Progress | None:
    """Report the steps of the one or the other of two trainings as those of both."""
    if report is None:
        return None
    return lambda step, steps: report(number * steps + step, 2 * steps)
