"""TIRA: its folders and variables, ir_metadata, and submission."""
