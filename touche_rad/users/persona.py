"""Personas: TOML files with a character and its moves, for the user `model`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from touche_rad.errors import OptionError, nearest
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import read_toml_record
from touche_rad.records import FrozenRecord

DEFAULT: Final = "curious"


class PersonaFile(FrozenRecord):
    """The content of a persona file."""

    character: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
    ]
    moves: tuple[
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)], ...
    ] = Field((), max_length=50)
    """What the person may do in a turn; each turn has one of them."""


class Persona(PersonaFile):
    """A person that the model plays."""

    name: str
    digest: str
    """A digest of the file."""


def bundled_personas() -> dict[str, Path]:
    """Return the bundled persona files by name."""
    folder = Path(__file__).parent / "personas"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load_persona(name_or_path: str) -> Persona:
    """Load a bundled persona by its name, or another one by the path of its file.

    Raises:
        UserError: The persona does not exist, or its file is invalid.
    """
    bundled = bundled_personas()
    path = bundled.get(name_or_path, Path(os.path.expanduser(name_or_path)))
    if name_or_path not in bundled and "/" not in name_or_path and path.suffix != ".toml":
        raise OptionError(
            f"there is no persona {name_or_path!r}{nearest(name_or_path, bundled)}; or give a path"
        )
    return Persona(
        **dict(read_toml_record(path, PersonaFile)),
        name=path.stem,
        digest=sha256_of(path)[:16],
    )
