"""Runs: respond, simulate and judge, with journal, status, guard and fallback."""

__all__ = [
    "answering",
    "fallbacks",
    "judging",
    "merging",
    "output",
    "panels",
    "parts",
    "ray",
    "ray_task",
    "recorded",
    "respond",
    "rewards",
    "runner",
    "sample",
    "shard",
    "simulate",
    "work",
]
