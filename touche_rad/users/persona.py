"""Personas: TOML files with a character and its moves, for the user `model`."""

from __future__ import annotations

import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, StringConstraints, ValidationError

from touche_rad.errors import OptionError, nearest
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import at_line, field_error, read_toml
from touche_rad.records import FrozenRecord

DEFAULT: Final = "curious"

Move = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]


class PersonaFile(FrozenRecord):
    """The content of a persona file."""

    character: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
    ]
    moves: tuple[Move, ...] = Field((), max_length=50)
    """What the person may do in a turn; each turn has one of them."""


class Persona(PersonaFile):
    """A person that the model plays."""

    name: str
    digest: str
    """A digest of the file."""


def bundled_personas() -> dict[str, Traversable]:
    """Return the bundled persona files by name."""
    folder = files(__package__).joinpath("personas")
    paths = {path.name: path for path in folder.iterdir() if path.name.endswith(".toml")}
    return {name.removesuffix(".toml"): paths[name] for name in sorted(paths)}


def load_persona(name_or_path: str) -> Persona:
    """Load a bundled persona by its name, or another one by the path of its file.

    Raises:
        UserError: The persona does not exist, or its file is invalid.
    """
    bundled = bundled_personas()
    if name_or_path in bundled:
        path = Path(str(bundled[name_or_path]))
        name = name_or_path
    elif "/" not in name_or_path and not name_or_path.endswith(".toml"):
        raise OptionError(
            f"there is no persona {name_or_path!r}{nearest(name_or_path, bundled)}; or give a path"
        )
    else:
        path = Path(os.path.expanduser(name_or_path))
        name = path.stem
    try:
        fields = PersonaFile.model_validate(read_toml(path))
    except ValidationError as error:
        raise at_line(path, None, field_error(error)) from None
    return Persona(**dict(fields), name=name, digest=sha256_of(path)[:16])
