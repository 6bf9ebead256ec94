"""Two trainings of a tiny model, made once, that many tests look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.models.tiny import tiny_model
from tests.training.makers import DPO, SFT, chats, preferences
from touche_rad.plugins import trainer
from touche_rad.training.folder import TrainingFolder


@pytest.fixture(scope="session")
def one_thread() -> Iterator[None]:
    """As many threads as the killed processes have, so that sums are rounded alike."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny(one_thread: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model") / "tiny")


def _trained(method: str, data: Path, base: Path, recipe: Mapping[str, Any]) -> TrainingFolder:
    out = data.with_name(method)
    trainer(method)([data], out, recipe={"base": str(base), **recipe})
    return TrainingFolder(out)


@pytest.fixture(scope="session")
def fine_tuned(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingFolder:
    return _trained("sft", chats(tmp_path_factory.mktemp("sft") / "data.jsonl"), tiny, SFT)


@pytest.fixture(scope="session")
def preferring(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingFolder:
    return _trained("dpo", preferences(tmp_path_factory.mktemp("dpo") / "data.jsonl"), tiny, DPO)
