"""The two trainings on a collection, as a program and as a person begins them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.terminal import Ended
from tests.terminal import touche_rad_process as touche_rad
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import trainer

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "touche_rad/demo/arguments.jsonl"


@dataclass(frozen=True)
class Training:
    """One of the two, with the settings that its tests train by."""

    name: str
    settings: Mapping[str, Any]

    def train(self, source: Path, out: Path, base: Path, **settings: Any) -> dict[str, Any]:
        """Train in this process."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)  # sums round alike in each process
        try:
            chosen = {**self.settings, **settings}
            return dict(trainer(self.name)(source, out, base=str(base), **chosen))
        finally:
            torch.set_num_threads(before)

    def said(self, *words: str | Path, source: Path, base: Path) -> Ended:
        """Train as a person does who types the settings."""
        return touche_rad("train", self.name, source, *self._words(base), *words)

    def dies(self, step: int, source: Path, out: Path, base: Path) -> None:
        """Train as a person does, and be killed after a step: there is no model yet."""
        words = (step, "train", self.name, source, "-o", out, *self._words(base))
        died = subprocess.run(
            [sys.executable, "-m", "tests.retrieval.dying_tuner", *map(str, words)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=False,
        )
        assert died.returncode == -signal.SIGKILL, died.stderr
        assert not (out / "modules.json").exists()

    def _words(self, base: Path) -> list[str]:
        told = {"base": base, **self.settings}
        return [f"--{name.replace('_', '-')}={value}" for name, value in told.items()]


def written(arguments: Iterable[Argument], folder: Path) -> Path:
    """Write a collection."""
    path = folder / "arguments.jsonl"
    path.write_text("".join(files.argument_line(one) + "\n" for one in arguments))
    return path


def report(folder: Path) -> dict[str, Any]:
    """Read a training's report."""
    told: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return told


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Read what was measured at each step."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def changed(before: Path, after: Path) -> set[str]:
    """Name the weights in which two models are not the same to the last bit."""
    from safetensors.numpy import load_file

    first, second = (load_file(place / "model.safetensors") for place in (before, after))
    return {
        name
        for name in {*first, *second}
        if name not in first or name not in second or not np.array_equal(first[name], second[name])
    }
