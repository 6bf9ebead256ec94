"""Fixtures of this folder."""

from tests.debaters.conftest import short_pauses

__all__ = ["short_pauses"]
