"""InspireScore: six dimensions of a debate, four of them judged and two of them checked."""

from judges.inspirescore._panel import InspireScore

__all__ = ["InspireScore"]
