"""DebGraph: a debate as a graph of claims, premises and rebuttals, scored and judged."""

from judges.debgraph.panel import DebGraph

__all__ = ["DebGraph"]
