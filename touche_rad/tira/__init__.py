"""TIRA: its folders and variables, ir_metadata, and submission."""

__all__ = ["dataset", "evaluator", "input", "metadata", "submission"]
