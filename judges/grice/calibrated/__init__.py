"""The calibrated judge: what can be seen without a model, and one call of a model, weighed."""

from judges.grice.calibrated.judge import Calibrated

__all__ = ["Calibrated"]
