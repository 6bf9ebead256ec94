"""Debates of other collections, brought into our one shape: contests."""

from touche_rad.contests.foreign.reading import FORMS, contests

__all__ = ["FORMS", "contests"]
