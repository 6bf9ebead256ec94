"""Dataclasses of values, which never change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import dataclass_transform

from touche_rad.lists import T


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a dataclass whose instances never change."""
    return dataclass(frozen=True)(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen_by_name(cls: type[T]) -> type[T]:
    """Make a dataclass whose instances never change, and are made with the names of the fields."""
    return dataclass(frozen=True, kw_only=True)(cls)
