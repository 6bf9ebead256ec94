"""DebGraph: a debate as a graph of claims, premises and rebuttals, scored and judged."""

from judges.debgraph._panel import DebGraph

__all__ = ["DebGraph"]
