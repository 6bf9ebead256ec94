"""Train a model on an argument collection: read the data, hold out topics, train, save, report."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from retrieval._tasks import hold_out
from retrieval.dense.encoders import NEEDED, minilm_folder
from retrieval.index.store import digest
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.training.card import versions, write_card
from touche_rad.training.folder import Folder
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
        restart: bool = False,
        report: Progress | None = None,
        **settings: Any,
    ) -> Mapping[str, Any]:
        """Train a model on a collection, or continue a killed training, and return the report."""
        recipe = validate_recipe(self.recipe, settings)
        arguments = list(files.read_arguments(collection))
        # A training is continued only where all of this is the same.
        identity = {
            "method": self.method,
            "recipe": recipe.model_dump(),
            "collection": digest(arguments),
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
                job = Job(recipe, *hold_out(self.usable(arguments)), folder, report)
                done = self._train(job, identity)
                data = {"file": collection.name, "records": len(arguments)}
                write_card(
                    folder.card,
                    template=self.card,
                    name=folder.root.name,
                    data=[{**data, "sha256": identity["collection"]}],
                    report=done,
                    versions=versions("sentence-transformers"),
                    place=str(folder.root),
                )
                folder.finish(done)
                shutil.rmtree(folder.checkpoints, ignore_errors=True)
            return {**done, "resumed": resumed}

    def _train(self, job: Job[R], identity: Mapping[str, Any]) -> dict[str, Any]:
        trained = self.train(job)
        trained.model.save(str(job.folder.root), create_model_card=False)
        report = self.report(
            base=job.recipe.base,
            collection=identity["collection"],
            trained_on=len(job.arguments),
            tested_on=len(job.held_out),
            steps=trained.steps,
            recipe=identity["recipe"],
            **trained.results,
        )
        return report.model_dump()
