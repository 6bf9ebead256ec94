"""Convert debates of other collections to contests."""

from touche_rad.contests.foreign.reading import contests

__all__ = ["contests"]
