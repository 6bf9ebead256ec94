"""First-order logic as language models write it: a tolerant parser, and a solver."""

from judges.inspirescore.fol._parser import FormulaError, parse
from judges.inspirescore.fol._solver import Decision, Solver, solver_is_installed

__all__ = ["Decision", "FormulaError", "Solver", "parse", "solver_is_installed"]
