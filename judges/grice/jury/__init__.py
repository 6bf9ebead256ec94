"""The judge `jury`: several judges, equal or learned weights, abstention and a cascade."""

from judges.grice.jury.judge import Jury

__all__ = ["Jury"]
