"""What a cited argument supports, and what can be quoted of it."""

__all__ = [
    "guard",
    "instructions",
    "quotable",
    "support",
    "words",
]
