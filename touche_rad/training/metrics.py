"""The losses of the trainers on a collection: each step once, also after a kill."""

from __future__ import annotations

import json
from pathlib import Path

from touche_rad import files


class Metrics:
    """A file with one JSON object per step."""

    def __init__(self, path: Path, *, from_step: int) -> None:
        """Drop the rows after `from_step`: a resumed training writes them again."""
        self.path = path
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        with files.atomic_write(path) as stream:
            stream.writelines(f"{line}\n" for line in lines[:from_step])

    def note(self, step: int, loss: float) -> None:
        """Append the loss of a step."""
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"loss": loss, "step": step}) + "\n")
