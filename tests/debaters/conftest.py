"""Fixtures of this folder."""

from __future__ import annotations

from dataclasses import replace

import pytest

from touche_rad.models import sending


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a failing model be asked again at once; tests/models tests the pauses themselves."""
    monkeypatch.setattr(
        sending, "RETRIES", replace(sending.RETRIES, first_wait=0.001, longest_wait=0.01)
    )
