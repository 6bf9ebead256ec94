"""The embedded index: analyser, engine, store, and the folder they are in."""
