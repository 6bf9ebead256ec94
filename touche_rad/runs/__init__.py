"""Runs: respond, simulate and judge, with journal, status, guard and fallback."""
