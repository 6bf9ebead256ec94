"""Fixtures of this folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from touche_rad.demo import demo_file
from touche_rad.files import read_arguments
from touche_rad.models import sending
from touche_rad.plugins import build_index


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a failing model be asked again at once; tests/models tests the pauses themselves."""
    monkeypatch.setattr(
        sending, "RETRIES", replace(sending.RETRIES, first_wait=0.001, longest_wait=0.01)
    )


@pytest.fixture(scope="session")
def first_topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the demo's first 18 topics, for which the messages of this folder are written."""
    folder = tmp_path_factory.mktemp("first-topics") / "index"
    demo = read_arguments(demo_file("arguments.jsonl"))
    build_index((argument for argument in demo if argument.id < "119"), str(folder))
    return folder
