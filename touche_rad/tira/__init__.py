"""TIRA: its folders and variables, ir_metadata, and submission."""

__all__ = ["check_format", "dataset", "evaluator", "input", "metadata", "submission"]
