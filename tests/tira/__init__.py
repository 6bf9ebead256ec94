"""Handing in, with TIRA's own client."""
