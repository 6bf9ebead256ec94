"""InspireScore: six dimensions of a debate, four of them judged and two of them checked."""

from judges.inspirescore.panel import InspireScore

__all__ = ["InspireScore"]
