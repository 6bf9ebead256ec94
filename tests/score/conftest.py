"""Runs of the demo for the tests of `check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.demo import CLAIMS, DEBATES
from tests.terminal import touche_rad


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, demo_index_path: Path) -> Path:
    """Return a folder with a good run of each kind."""
    folder = tmp_path_factory.mktemp("runs")
    claims, debates = CLAIMS, DEBATES
    for words in (
        ("simulate", claims, "-d", "verbatim", "-o", folder / "simulations.jsonl", "--turns", "2"),
        ("judge", folder / "simulations.jsonl", "-o", folder / "evaluations.jsonl"),
        ("respond", debates, "-d", "verbatim", "-o", folder / "responses.jsonl"),
    ):
        touche_rad(*words, "-i", demo_index_path)
    for status in folder.glob("*.status.json"):  # it says that the index is the demo's
        status.unlink()
    return folder
