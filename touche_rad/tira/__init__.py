"""TIRA: its folders and variables, and submission."""
