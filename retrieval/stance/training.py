"""The trainer `stance`: a collection in, a stance model and what it knows out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retrieval.dense.encoders import minilm_folder
from retrieval.stance.trained import train
from retrieval.store import digest
from touche_rad import files
from touche_rad.errors import UserError


def train_stance(
    collection: Path, folder: Path, *, base: str, epochs: int, rate: float, seed: int
) -> dict[str, Any]:
    """Train a stance model and return its report."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is there already")
    arguments = list(files.read_arguments(collection))
    place = minilm_folder(base) if base == "minilm" else base
    report = train(
        arguments, folder, base=place, collection=digest(arguments), epochs=epochs, rate=rate,
        seed=seed,
    )  # fmt: skip
    return {**report.model_dump(), "base": base}
