"""Audit judges: how their verdicts change when a response is changed, and how far they agree."""

from touche_rad.score.audit._running import audit
from touche_rad.score.audit.figures import Audit

__all__ = ["Audit", "audit"]
