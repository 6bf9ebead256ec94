"""The judge `grounded`: verdicts without a model, from quotations and readable features."""

from judges.grice.grounded._judge import GroundedJudge

__all__ = ["GroundedJudge"]
