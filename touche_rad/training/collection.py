"""Training on an argument collection: from the data to the report, whatever is trained."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel

from retrieval.dense.encoders import NEEDED, minilm_folder
from retrieval.index.store import digest
from retrieval.tasks import Unseen
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.debaters.inspiredebate.training.recipe import checked
from touche_rad.errors import UserError
from touche_rad.training.card import versions, write_card
from touche_rad.training.folder import Folder
from touche_rad.training.loop import Closing

MODULES: Final = "modules.json"
"""What sentence-transformers opens a model by; written last."""
BEFORE: Final = "before.json"


def before(root: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what was measured of the base before a kill, or measure it."""
    path = root / BEFORE
    if path.is_file():
        kept: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return kept
    found = measure()
    with files.atomic_write(path) as stream:
        stream.write(json.dumps(found) + "\n")
    return found


def save(model: Any, root: Path) -> None:
    """Write the model beside the training's files; what it is opened by comes last."""
    fresh = root / ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    model.save(str(fresh), create_model_card=False)
    for one in sorted(fresh.iterdir(), key=lambda place: place.name == MODULES):
        target = root / one.name
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(one, target)
    fresh.rmdir()


def clear(root: Path) -> None:
    """Leave no model of an earlier training."""
    (root / MODULES).unlink(missing_ok=True)
    (root / BEFORE).unlink(missing_ok=True)


log = logging.getLogger("touche_rad")

Progress = Callable[[int, int], None]
R = TypeVar("R", bound=Closing)


@dataclass(frozen=True)
class Lesson(Generic[R]):
    """What a model is taught with."""

    recipe: R
    learnt: Sequence[Argument]
    held_out: Sequence[Argument]
    folder: Folder
    report: Progress | None

    @property
    def place(self) -> str:
        """Where the base lies: a folder, or OWNER/NAME of the hub."""
        base = self.recipe.base
        return minilm_folder(base) if base == "minilm" else base

    def before(self, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what is measured of the base, or was measured before a kill."""
        return before(self.folder.root, measure)


@dataclass(frozen=True)
class Taught:
    """A model that has learnt."""

    model: Any
    """As sentence-transformers saves it."""
    steps: int
    known: Mapping[str, Any]
    """What the report of its kind says beside what all reports say."""


@dataclass(frozen=True)
class Course(Generic[R]):
    """A trainer: a collection in, a model and its report out."""

    method: str
    recipe: type[R]
    usable: Callable[[Sequence[Argument]], list[Argument]]
    """Tells the arguments that can be learnt from."""
    teach: Callable[[Lesson[R]], Taught]
    """Trains, with checkpoints in the lesson's folder, and measures before and after."""
    report: type[BaseModel]
    card: str
    """The package of the card."""

    def __call__(
        self,
        collection: Path,
        out: Path,
        *,
        held_out: str = "test",
        restart: bool = False,
        report: Progress | None = None,
        note: Callable[[str], None] = log.info,
        **settings: Any,
    ) -> Mapping[str, Any]:
        """Train a model, or go on with it, and return its report.

        Args:
            collection: The arguments that it learns from.
            out: The folder of the model.
            held_out: The topics that it never sees: `test`, or a fold such as 2/4.
            restart: Begin anew, whatever is in the folder.
            report: Told the steps, and how many there are in all.
            note: Told what a person may want to know before the training begins.
            settings: What the recipe is made of.
        """
        recipe, unseen = checked(self.recipe, settings), Unseen.named(held_out)
        arguments = list(files.read_arguments(collection))
        # All that must be the same where a training goes on.
        identity = {
            "method": self.method, "recipe": recipe.model_dump(),
            "collection": digest(arguments), "held_out": str(unseen),
        }  # fmt: skip
        folder = Folder(out)
        with folder.alone():
            goes_on = folder.take_up(identity, restart=restart)
            if not goes_on:
                clear(out)
            done = folder.finished()
            if done is None:
                self._needs_its_packages()
                if recipe.advice:
                    note(recipe.advice)
                parts = unseen.part(self.usable(arguments))
                lesson = Lesson(recipe, *parts, folder, report)
                source = {"file": collection.name, "records": len(arguments)}
                done = self._finished(lesson, identity, source)
            return {**done, "resumed": goes_on}

    def _needs_its_packages(self) -> None:
        try:
            import sentence_transformers  # noqa: F401
        except ImportError:
            told = f"train {self.method} needs sentence-transformers: {NEEDED}"
            raise UserError(told) from None

    def _finished(
        self, lesson: Lesson[R], identity: Mapping[str, Any], source: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Teach, and write the model, its card and last its report."""
        taught, folder = self.teach(lesson), lesson.folder
        told = self.report(
            base=lesson.recipe.base, collection=identity["collection"],
            held_out=identity["held_out"], trained_on=len(lesson.learnt),
            tested_on=len(lesson.held_out), steps=taught.steps, recipe=identity["recipe"],
            **taught.known,
        ).model_dump()  # fmt: skip
        save(taught.model, folder.root)
        write_card(
            folder.card, template=self.card, name=folder.root.name,
            data=[{**source, "sha256": identity["collection"]}], told=told,
            versions=versions("sentence-transformers"), place=str(folder.root),
        )  # fmt: skip
        folder.finish(told)
        shutil.rmtree(folder.checkpoints, ignore_errors=True)
        return told
