"""How a model answers, wherever it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How a model answers; part of what an answer is cached by."""

    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 1024
