"""The type of NumPy arrays, and how their files are opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def mapped(path: Path) -> Array:
    """Open a file of an array, memory-mapped."""
    return np.asarray(np.load(path, mmap_mode="r"))
