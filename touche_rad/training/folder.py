"""The folder of one training: what it was begun with, its checkpoints, and what came of it.

A checkpoint counts when its mark is there, which is written last; one that a kill left torn is
removed. Training goes on only where it is the same training.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.errors import UserError

MARK: Final = "complete"
_OURS: Final = (
    "report.json", "metrics.jsonl", "data.jsonl", "held_out.jsonl", "counts.json", "README.md",
    "loss.svg", "accuracy.svg", "margin.svg",
)  # fmt: skip
_NUMBER: Final = re.compile(r"checkpoint-(\d+)")


class Folder:
    """Where a training is."""

    def __init__(self, root: Path) -> None:
        """Name the places in it; nothing is made yet."""
        self.root = root
        self.identity = root / "training.json"
        self.data = root / "data.jsonl"
        self.held_out = root / "held_out.jsonl"
        self.counts = root / "counts.json"
        self.metrics = root / "metrics.jsonl"
        self.checkpoints = root / "checkpoints"
        self.adapter = root / "adapter"
        self.merged = root / "merged"
        self.card = root / "README.md"
        self.report = root / "report.json"
        self.lock = root / ".lock"

    def take_up(self, identity: Mapping[str, Any], *, restart: bool = False) -> bool:
        """Begin a training here, or go on with the one that is here; return whether it goes on.

        One that has no data yet has made nothing: a command that was wrong is given again mended.

        Raises:
            UserError: What is here is another training.
        """
        told = json.loads(json.dumps(identity))
        made = (self.data, self.report, self.checkpoints, self.adapter)
        if self.identity.is_file() and any(one.exists() for one in made) and not restart:
            self._compare(told)
            return True
        self._clear()
        with files.atomic_write(self.identity) as stream:
            stream.write(json.dumps(told, indent=1) + "\n")
        return False

    def _compare(self, identity: Mapping[str, Any]) -> None:
        try:
            earlier = _flat(json.loads(self.identity.read_text("utf-8")))
        except (ValueError, AttributeError):
            raise UserError(f"{self.identity} is damaged: begin anew with --restart") from None
        now = _flat(identity)
        for key in sorted({*now, *earlier}):
            if now.get(key) != earlier.get(key):
                raise UserError(
                    f"{self.root} was begun with another {key}: {_shown(earlier.get(key))}, now "
                    f"{_shown(now.get(key))}; begin anew with --restart, or write elsewhere"
                )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from training here; a kill lets go."""
        if self.root.exists() and not self.root.is_dir():
            raise UserError(f"{self.root} is a file: name a folder for the training")
        self.root.mkdir(parents=True, exist_ok=True)
        if not self.identity.is_file() and any(one != self.lock for one in self.root.iterdir()):
            raise UserError(f"{self.root} holds other things: write elsewhere")
        with self.lock.open("a") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UserError(f"{self.root}: another process is training here") from None
            yield

    def _clear(self) -> None:
        """Remove what an earlier training made, and nothing else."""
        for place in (self.checkpoints, self.adapter, self.merged):
            shutil.rmtree(place, ignore_errors=True)
        for name in _OURS:
            (self.root / name).unlink(missing_ok=True)

    def last_checkpoint(self) -> Path | None:
        """Return the newest whole checkpoint, and remove those that a kill left torn."""
        whole: dict[int, Path] = {}
        for place in self.checkpoints.glob("checkpoint-*"):
            match = _NUMBER.fullmatch(place.name)
            if match and (place / MARK).is_file():
                whole[int(match[1])] = place
            else:
                shutil.rmtree(place, ignore_errors=True)
        return whole[max(whole)] if whole else None

    def finished(self) -> dict[str, Any] | None:
        """Return the report of a training that is done."""
        if not self.report.is_file():
            return None
        try:
            told: dict[str, Any] = json.loads(self.report.read_text("utf-8"))
            told["recipe"]["base"]
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{self.report} is damaged: train anew with --restart") from None
        return told

    def finish(self, report: Mapping[str, Any]) -> None:
        """Keep the report; it is written last, so that it says that all else is there."""
        with files.atomic_write(self.report) as stream:
            stream.write(json.dumps(report, indent=1) + "\n")


def steps_of(checkpoint: Path | None) -> int:
    """Return how many steps a checkpoint is from the beginning."""
    match = _NUMBER.fullmatch(checkpoint.name) if checkpoint is not None else None
    return int(match[1]) if match else 0


def sha256(path: Path) -> str:
    """Return a file's digest."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _flat(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with those of the recipe beside the others."""
    return {**told, **told.get("recipe", {}), "recipe": None}


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
