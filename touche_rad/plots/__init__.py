"""Plots as SVG."""

__all__ = ["svg"]
