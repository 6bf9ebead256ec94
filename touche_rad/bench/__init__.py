"""Benches: debaters x users x seeds, judged, scored and shown, from one TOML file.

A bench is a plan (`plan.py`) and a folder of results: one file per cell (`_cells.py`), the figures,
a page, and `record.json` with the hashes of all files.
"""
