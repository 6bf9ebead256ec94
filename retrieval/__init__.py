"""The argument index and what searches it."""
