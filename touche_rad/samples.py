"""How many bootstrap samples confidence intervals and comparisons of runs are from."""

from typing import Final

SAMPLES: Final = 10_000
"""The default of every command that compares runs, so that equal data have equal intervals."""
