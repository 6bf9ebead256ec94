"""Encoders of one's own: a bi-encoder tuned on a collection's claims and arguments."""
