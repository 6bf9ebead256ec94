"""What a cited argument supports: words, alignment, quotation and support."""

__all__ = [
    "alignment",
    "findings",
    "guard",
    "instructions",
    "quotable",
    "repetition",
    "support",
    "words",
]
