"""The folder of one training: settings, data, checkpoints and report.

A training is resumed only with the same settings and data.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import UserError, refuse_newer
from touche_rad.files.append_log import refuse_other_identity
from touche_rad.files.outputs import alone_in
from touche_rad.files.records import (
    read_file,
    read_json,
    refuse_links,
    refuse_links_out,
    write_json,
)

FORMAT: Final = 1
"""The format of training.json and report.json."""


class TrainingFolder:
    """The paths of a training, and its state."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.identity = root / "training.json"
        self.data = root / "data.jsonl"
        self.held_out = root / "held_out.jsonl"
        self.counts = root / "counts.json"
        self.state = root / "trainer_state.json"
        self.checkpoints = root / "checkpoints"
        self.adapter = root / "adapter"
        self.card = root / "README.md"
        self.report = root / "report.json"

    def start_or_resume(self, identity: Mapping[str, Any], *, restart: bool = False) -> bool:
        """Start a training, or resume the one in this folder if its identity is equal.

        A training without data has produced nothing: it is started again with any settings.

        Returns:
            Whether it is resumed.
        """
        identity = json.loads(json.dumps({"format": FORMAT, **identity}))
        results = (self.data, self.report, self.checkpoints, self.adapter)
        if self.identity.is_file() and any(path.exists() for path in results):
            try:
                record = read_json(self.identity)
                refuse_newer(self.root, record, FORMAT)
                earlier = _settings(record)
            except (ValueError, AttributeError, TypeError):
                if not restart:
                    raise UserError(
                        f"{self.identity} is damaged: start again with --restart"
                    ) from None
            else:
                refuse_other_identity(
                    f"{self.root} contains a training with other settings:",
                    earlier,
                    _settings(identity),
                    "replace it with --replace, or choose another folder with -o",
                )
            if not restart:
                return True
        self._clear()
        write_json(self.identity, identity)
        return False

    def replace(self) -> None:
        """Delete the training in this folder, whichever it is, so that another one can start."""
        if self.identity.is_file():
            with self.exclusive():
                self._clear()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock the folder against other processes; a kill releases the lock."""
        with alone_in(self.root):
            refuse_links(self.root)
            if not self.identity.is_file() and any(self.root.iterdir()):
                raise UserError(f"{self.root} contains other files: choose another folder with -o")
            yield

    def _clear(self) -> None:
        """Delete what an earlier training wrote, and nothing else."""
        for folder in (self.checkpoints, self.adapter):
            shutil.rmtree(folder, ignore_errors=True)
        for file in (
            self.data,
            self.held_out,
            self.counts,
            self.state,
            self.card,
            self.report,
        ):
            file.unlink(missing_ok=True)

    def finished(self) -> dict[str, Any] | None:
        """Return the report of a finished training, or None."""
        if not self.report.is_file():
            return None
        try:
            report: dict[str, Any] = json.loads(read_file(self.report))
            refuse_newer(self.root, report, FORMAT)
            report["recipe"]["base"]
        except (OSError, ValueError, KeyError, TypeError):
            raise UserError(f"{self.report} is damaged: start again with --restart") from None
        return report

    def need_report(self) -> dict[str, Any]:
        """Return the report of a finished training; raise UserError if there is none."""
        report = self.finished()
        if report is None:
            raise UserError(f"{self.root} contains no finished training")
        refuse_links_out(self.root, self.root.rglob("*"))
        return report

    def finish(self, report: Mapping[str, Any]) -> None:
        """Write the report; it comes last, so it shows that everything else is there."""
        write_json(self.report, {"format": FORMAT, **report})


def _settings(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return an identity with the settings of its recipe one by one."""
    settings = {**identity, **identity.get("recipe", {})}
    return {key: value for key, value in settings.items() if key != "recipe"}
