"""The fault campaign: every kind of fault at every place, and what came of it."""
