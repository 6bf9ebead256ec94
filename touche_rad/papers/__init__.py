"""The tables of the five papers as files: what is run, how it is scored, and the paper's values."""
