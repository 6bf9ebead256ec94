"""Files of TREC AutoJudge, written from our runs and read back."""

__all__ = ["autojudge", "reports"]
