"""The trainer `stance`: a collection in, a model of which claim a text attacks out.

From each argument come two pairs: its text with the claim it supports, and with the one it attacks.
Whole topics are held out, and beside the accuracy on them stand the base's own and two lines that
need no understanding: chance, and a model that learnt alike from the claims alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from retrieval.course import Course, Lesson, Taught
from retrieval.stance.gain import ALL, ORIGINS, measured
from retrieval.stance.head import Begun, one_row
from retrieval.stance.learning import Recipe, learn, usable
from retrieval.stance.nli import cross_encoder
from retrieval.stance.trained import Report
from touche_rad.training.folder import Folder


def _taught(lesson: Lesson[Recipe]) -> Taught:
    """Train with the text and without, and measure before and after."""
    out = lesson.held_out
    model, begun = _base(lesson)
    known = {"before": lesson.before(lambda: measured(model, out))}
    steps = learn(model, _part(lesson, 0))
    known["after"] = measured(model, out)
    blind, _ = _base(lesson)
    learn(blind, _without_text(_part(lesson, 1)), text=False)
    known["claim_only"] = measured(blind, out, text=False)
    told = {name: row[ALL] for name, row in known.items()}
    origins = {one: {name: row[one] for name, row in known.items()} for one in ORIGINS}
    return Taught(model, steps, {"begun": begun, **told, "by_origin": origins})


def _base(lesson: Lesson[Recipe]) -> tuple[Any, Begun]:
    """Return the base with one row, the same each time, in whole precision to learn."""
    import torch

    torch.manual_seed(lesson.recipe.seed)
    model = cross_encoder(lesson.place).float()
    return model, one_row(model.model, lesson.recipe.base)


def _without_text(lesson: Lesson[Recipe]) -> Lesson[Recipe]:
    """Let the model of the claims alone have checkpoints elsewhere; nothing of it is kept."""
    found = Folder(lesson.folder.checkpoints / "claim_only")
    found.root.mkdir(parents=True, exist_ok=True)
    return replace(lesson, folder=found)


def _part(lesson: Lesson[Recipe], number: int) -> Lesson[Recipe]:
    """Report the steps of the one or the other of two trainings as those of both."""
    report = lesson.report
    if report is None:
        return lesson
    return replace(lesson, report=lambda step, steps: report(number * steps + step, 2 * steps))


train_stance: Final = Course(
    method="stance", recipe=Recipe, usable=usable, teach=_taught, report=Report, card=__package__
)
