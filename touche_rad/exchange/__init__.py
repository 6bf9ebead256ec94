"""Files of other evaluation software, written from our runs and read back."""

__all__ = ["autojudge", "inspect_logs", "reports"]
