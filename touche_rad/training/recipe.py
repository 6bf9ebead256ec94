"""The packages of a training."""

from __future__ import annotations

from importlib.util import find_spec

from touche_rad.errors import UserError


def check_packages() -> None:
    """Raise an error if a package of the extra `train` is missing; nothing is imported."""
    for name in ("datasets", "peft", "trl"):
        if find_spec(name) is None:
            raise UserError(
                f"training needs the extra train (pip install 'touche-rad[train]'): {name}"
            )
