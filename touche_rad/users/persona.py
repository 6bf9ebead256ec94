"""Personas: TOML files with a character and its moves, for the user `model`."""

from __future__ import annotations

import hashlib
import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from touche_rad.errors import InputError, OptionError, UserError, nearest, why
from touche_rad.files.records import field_error, parse_toml, read_file

DEFAULT: Final = "curious"

Move = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]


class PersonaFile(BaseModel):
    """The content of a persona file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
        path: Traversable | Path = bundled[name_or_path]
        name = name_or_path
    elif "/" not in name_or_path and not name_or_path.endswith(".toml"):
        raise OptionError(
            f"there is no persona {name_or_path!r}{nearest(name_or_path, bundled)}; or give a path"
        )
    else:
        path = Path(os.path.expanduser(name_or_path))
        name = path.stem
    try:
        content = path.read_bytes() if name_or_path in bundled else read_file(Path(str(path)))
        values = parse_toml(content.decode("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {why(error)}") from None
    except ValueError as error:
        raise InputError(str(path), f"expected TOML: {error}") from None
    try:
        fields = PersonaFile.model_validate(values)
    except ValidationError as error:
        miss = field_error(error)
        raise InputError(str(path), miss.expected, field=miss.field) from None
    return Persona(**dict(fields), name=name, digest=hashlib.sha256(content).hexdigest()[:16])
