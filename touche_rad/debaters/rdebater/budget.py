"""The hard budget of a turn: every call is taken out of it before it is made."""

from __future__ import annotations

from touche_rad.models.errors import OverBudget


class Allowance:
    """The calls that are left in a turn."""

    def __init__(self, calls: int) -> None:
        """Begin a turn with so many calls."""
        self.calls = calls
        self.left = calls

    def take(self, calls: int = 1, *, keep: int = 0) -> None:
        """Take calls out of what is left.

        Args:
            calls: How many are to be made.
            keep: How many must stay for what matters more.

        Raises:
            OverBudget: There are not so many; nothing was taken.
        """
        if self.left - calls < keep:
            raise OverBudget(f"the turn's {self.calls} calls are spent")
        self.left -= calls

    @property
    def spent(self) -> int:
        """How many were taken."""
        return self.calls - self.left
