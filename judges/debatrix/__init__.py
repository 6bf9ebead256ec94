"""Debatrix: a debate judged speech by speech in several dimensions, and by a panel of them."""

from judges.debatrix._panel import Debatrix

__all__ = ["Debatrix"]
