"""The grounded judge: verdicts from what the response quotes, and from features anyone can read."""

from judges.grice.grounded.judge import GroundedJudge

__all__ = ["GroundedJudge"]
