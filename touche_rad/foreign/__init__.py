"""Debates of other collections, brought into our one shape: contests."""

from touche_rad.foreign.reading import FORMS, contests

__all__ = ["FORMS", "contests"]
