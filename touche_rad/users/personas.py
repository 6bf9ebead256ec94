"""Personas: how a simulated user is as a person, each in a file of its own.

A persona file is TOML: `character` says who speaks, `moves` what such a person may do in a turn.
What stands in it is put into a prompt as it stands; it is no template and names no file.
"""

from __future__ import annotations

import hashlib
import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from touche_rad.errors import InputError, OptionError, UserError, nearest

DEFAULT: Final = "curious"
_LARGEST: Final = 64 * 1024

Move = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]


class Written(BaseModel):
    """What a persona file says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    character: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
    ]
    moves: tuple[Move, ...] = Field((), max_length=50)


class Persona(Written):
    """A person to be played."""

    name: str
    digest: str
    """What tells this file's content from another's."""


def bundled() -> dict[str, Traversable]:
    """Return our own persona files by name."""
    folder = files(__package__).joinpath("personas")
    found = {
        one.name.removesuffix(".toml"): one
        for one in folder.iterdir()
        if one.name.endswith(".toml")
    }
    return dict(sorted(found.items()))


def persona(who: str) -> Persona:
    """Read a persona: one of ours by its name, or anybody's by the path of its file.

    Raises:
        UserError: There is none of this name, or the file is none.
    """
    own = bundled()
    if who in own:
        return _read(own[who], who)
    if "/" not in who and not who.endswith(".toml"):
        raise OptionError(f"there is no persona {who!r}{nearest(who, own)}; or give a path")
    path = Path(who).expanduser()
    return _read(path, path.stem)


def _read(place: Traversable | Path, name: str) -> Persona:
    try:
        with place.open("rb") as stream:
            held = stream.read(_LARGEST + 1)
    except OSError as error:
        raise UserError(f"{place}: cannot be read: {error.strerror or error}") from None
    if len(held) > _LARGEST:
        raise InputError(str(place), f"expected a persona of at most {_LARGEST} bytes")
    try:
        said = tomllib.loads(held.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(str(place), f"expected TOML: {error}") from None
    try:
        written = Written.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"])
        raise InputError(str(place), first["msg"], field=field) from None
    return Persona(**dict(written), name=name, digest=hashlib.sha256(held).hexdigest()[:16])
