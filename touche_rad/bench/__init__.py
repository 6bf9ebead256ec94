"""Benches: debaters x users x seeds, judged, scored and shown, from one TOML file.

A bench is a plan (`plan.py`) and a folder of results: one file per cell (`cells.py`), the figures,
a page, and `record.json`, from which `verify.py` computes or repeats everything.
"""

__all__ = ["figures", "new", "plan", "record", "run", "verify"]
