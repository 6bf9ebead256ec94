"""Runs: respond, simulate and judge, with journal, status, guard and fallback."""

__all__ = [
    "answering",
    "fallbacks",
    "judging",
    "panels",
    "parts",
    "play",
    "runner",
    "sample",
    "shard",
    "work",
]
