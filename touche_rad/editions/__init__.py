"""Editions and benches: debaters x users x seeds, judged, scored and shown, from one TOML file.

An edition is a folder that contains its plan (`edition.toml`), its data and its results. A bench is
the same plan with its results in another folder. Both use the same engine.
"""
