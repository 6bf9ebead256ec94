"""Fixtures of this folder."""

from __future__ import annotations

import pytest

from touche_rad.models import sending


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a failing model be asked again at once; tests/models tests the pauses themselves."""
    monkeypatch.setattr(sending, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(sending, "LONGEST_WAIT", 0.01)
