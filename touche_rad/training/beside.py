"""A sentence-transformers model in the folder of its training, beside what the training leaves."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from touche_rad import files

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
