"""First-order logic as language models write it: read with care, and decided by a solver."""

from judges.inspirescore.fol.reading import Unreadable, read
from judges.inspirescore.fol.solver import Decision, Solver, solver_is_here

__all__ = ["Decision", "Solver", "Unreadable", "read", "solver_is_here"]
