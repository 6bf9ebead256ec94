"""The trainer `stance`: a collection in, a model of which claim a text attacks out.

From each argument come two pairs: its text with the claim it supports, and with the one it attacks.
Whole topics are held out, and beside the accuracy on them stand the base's own and two lines that
need no understanding: chance, and a model that learnt alike from the claims alone.
"""

from __future__ import annotations

from typing import Any, Final

from retrieval.course import Course, Lesson, Progress, Taught
from retrieval.stance.gain import ALL, ORIGINS, measured
from retrieval.stance.head import Begun, one_row
from retrieval.stance.learning import Recipe, learn, usable
from retrieval.stance.nli import cross_encoder
from retrieval.stance.trained import Report
from touche_rad.training.folder import Folder


def _taught(lesson: Lesson[Recipe]) -> Taught:
    """Train with the text and without, and measure before and after."""
    recipe, folder, out = lesson.recipe, lesson.folder, lesson.held_out
    model, begun = _base(lesson)
    known = {"before": lesson.before(lambda: measured(model, out))}
    steps = learn(model, recipe, lesson.learnt, folder, _part(lesson.report, 0))
    known["after"] = measured(model, out)
    blind, _ = _base(lesson)
    learn(blind, recipe, lesson.learnt, _without_text(folder), _part(lesson.report, 1), text=False)
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


train_stance: Final = Course(
    method="stance", recipe=Recipe, usable=usable, teach=_taught, report=Report, card=__package__
)
