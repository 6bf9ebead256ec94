"""Audit judges: how their verdicts change when a response is changed, and how far they agree."""

from touche_rad.score.audit.figures import Audit
from touche_rad.score.audit.running import audit

__all__ = ["Audit", "audit"]
