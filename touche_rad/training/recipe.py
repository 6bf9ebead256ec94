"""The recipe of a training: its validated settings."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from touche_rad.errors import OptionError, UserError

M = TypeVar("M", bound=BaseModel)


def check_packages() -> None:
    """Raise an error if a package of the extra `train` is missing; nothing is imported."""
    for name in ("datasets", "peft", "trl"):
        if find_spec(name) is None:
            raise UserError(
                f"training needs the extra train (pip install 'touche-rad[train]'): {name}"
            )


def validate_recipe(kind: type[M], options: Mapping[str, Any]) -> M:
    """Build a recipe from command line options; an error names the wrong option."""
    values = {name: options[name] for name in kind.model_fields if options.get(name) is not None}
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).replace("_", "-")
        raise OptionError(f"--{name}: {first['msg'].lower()}") from None
