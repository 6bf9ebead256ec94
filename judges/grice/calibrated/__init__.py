"""The judge `calibrated`: rule-based features and one model call."""

from judges.grice.calibrated.judge import Calibrated

__all__ = ["Calibrated"]
