"""First-order logic as language models write it: read with care, and decided by a solver."""

from judges.inspirescore.fol.reading import read
from judges.inspirescore.fol.solver import Decision, Solver, solver_is_here
from judges.inspirescore.fol.tokens import Unreadable

__all__ = ["Decision", "Solver", "Unreadable", "read", "solver_is_here"]
