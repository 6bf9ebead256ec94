"""Defaults of all commands, so that equal data have equal results."""

from typing import Final

SAMPLES: Final = 10_000
"""Bootstrap samples of confidence intervals and comparisons of runs."""
TURNS: Final = 5
"""User turns of a debate that is played."""
