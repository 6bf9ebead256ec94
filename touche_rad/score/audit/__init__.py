"""What a judge goes by besides what is said: changes to answers that it must see, or forgive."""

from touche_rad.score.audit.figures import Audit
from touche_rad.score.audit.running import audit

__all__ = ["Audit", "audit"]
