"""Convert debates of other collections to contests."""

from touche_rad.contests.foreign._reading import contests

__all__ = ["contests"]
