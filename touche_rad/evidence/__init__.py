"""What a cited argument supports, and what can be quoted of it."""
