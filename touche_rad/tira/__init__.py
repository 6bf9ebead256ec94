"""TIRA: its folders and variables, and submission."""

__all__ = ["dataset", "evaluator", "input", "submission"]
