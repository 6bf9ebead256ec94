"""Train a model on an argument collection: read the data, hold out topics, train, save, report."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from retrieval._tasks import Unseen
from retrieval.dense.encoders import NEEDED, minilm_folder
from retrieval.index.store import digest
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.training.card import versions, write_card
from touche_rad.training.folder import Folder
from touche_rad.training.loop import fit
from touche_rad.training.recipe import Recipe, validate_recipe

_MODULES: Final = "modules.json"
"""sentence-transformers opens a model by this file, which it writes last."""

Progress = Callable[[int, int], None]
R = TypeVar("R", bound=Recipe)


@dataclass(frozen=True)
class Job(Generic[R]):
    """One training: recipe, data and folder."""

    recipe: R
    arguments: Sequence[Argument]
    held_out: Sequence[Argument]
    folder: Folder
    progress: Progress | None

    @property
    def base(self) -> str:
        """The base model: a folder, or OWNER/NAME on the Hugging Face hub."""
        base = self.recipe.base
        return minilm_folder(base) if base == "minilm" else base

    def fit(
        self,
        model: Any,
        parts: Sequence[Any],
        batches: Callable[[str], Iterable[list[Argument]]],
        loss: Callable[[list[Argument], int], Any],
    ) -> int:
        """Train parts of a model in place and return the number of steps.

        `batches` returns the batches of an epoch for a random seed.
        """
        recipe = self.recipe
        seeds = [f"{recipe.seed} {epoch}" for epoch in range(recipe.epochs)]
        steps = list(chain.from_iterable(map(batches, seeds)))
        fit(model, parts, steps, loss, recipe, self.folder, self.progress)
        return len(steps)


class Trained(NamedTuple):
    """A trained sentence-transformers model and the method's own fields of the report."""

    model: Any
    steps: int
    results: Mapping[str, Any]


@dataclass(frozen=True)
class CollectionTrainer(Generic[R]):
    """A trainer that turns a collection into a model and its report."""

    method: str
    recipe: type[R]
    usable: Callable[[Sequence[Argument]], list[Argument]]
    """Keeps the arguments that the method can use."""
    train: Callable[[Job[R]], Trained]
    """Trains with checkpoints in the job's folder, and measures before and after."""
    report: type[BaseModel]
    card: str
    """The package that contains the template of the model card."""

    def __call__(
        self,
        collection: Path,
        out: Path,
        *,
        held_out: str = "test",
        restart: bool = False,
        report: Progress | None = None,
        **settings: Any,
    ) -> Mapping[str, Any]:
        """Train a model on a collection, or continue a killed training, and return the report.

        `held_out` names the topics that are not trained on: `test`, or a fold such as 2/4.
        """
        recipe, unseen = validate_recipe(self.recipe, settings), Unseen.named(held_out)
        arguments = list(files.read_arguments(collection))
        # A training is continued only where all of this is the same.
        identity = {
            "method": self.method,
            "recipe": recipe.model_dump(),
            "collection": digest(arguments),
            "held_out": str(unseen),
        }
        folder = Folder(out)
        with folder.exclusive():
            resumed = folder.start_or_resume(identity, restart=restart)
            if not resumed:
                (out / _MODULES).unlink(missing_ok=True)
            done = folder.finished()
            if done is None:
                if find_spec("sentence_transformers") is None:
                    raise UserError(f"train {self.method} needs sentence-transformers: {NEEDED}")
                job = Job(recipe, *unseen.part(self.usable(arguments)), folder, report)
                data = {"file": collection.name, "records": len(arguments)}
                done = self._finish(job, identity, {**data, "sha256": identity["collection"]})
            return {**done, "resumed": resumed}

    def _finish(
        self, job: Job[R], identity: Mapping[str, Any], data: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Train, then write the model, its card and, last, its report."""
        trained, folder = self.train(job), job.folder
        report = self.report(
            base=job.recipe.base,
            collection=identity["collection"],
            held_out=identity["held_out"],
            trained_on=len(job.arguments),
            tested_on=len(job.held_out),
            steps=trained.steps,
            recipe=identity["recipe"],
            **trained.results,
        ).model_dump()
        trained.model.save(str(folder.root), create_model_card=False)
        write_card(
            folder.card,
            template=self.card,
            name=folder.root.name,
            data=[data],
            report=report,
            versions=versions("sentence-transformers"),
            place=str(folder.root),
        )
        folder.finish(report)
        shutil.rmtree(folder.checkpoints, ignore_errors=True)
        return report
