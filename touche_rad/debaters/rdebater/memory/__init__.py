"""The argument memory: which schemes each argument of an index uses, and how well.

It lies beside an index as vectors do (`memory/`): made once by a model, gone on with when killed,
mapped and never loaded. Words and meaning are looked up in the index itself.
"""

from touche_rad.debaters.rdebater.memory.building import annotate, cost
from touche_rad.debaters.rdebater.memory.store import MEMORY, ArgumentMemory, open_memory

__all__ = ["MEMORY", "ArgumentMemory", "annotate", "cost", "open_memory"]
