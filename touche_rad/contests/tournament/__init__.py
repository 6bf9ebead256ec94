"""Tournaments: every pair of debaters on both sides of every claim, a panel, and ratings."""
