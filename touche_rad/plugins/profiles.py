"""What a user can change in a plugin: options, profiles and prompts.

A plugin's `Options` class has two kinds of fields. *Options* (`pydantic.Field`) are set by users.
*Settings* (`Setting[...]`) are details of a method, such as the numbers of a paper; on the command
line only a profile can set them. A profile is a TOML file:

    description = "The numbers of the paper."
    extends = "lean"

    [settings]
    per_query = 3

Bundled profiles are the files `profiles/NAME.toml` beside the module of the `Options` class. A user
gives the path of a file of their own instead of a name.

A plugin with prompt files has the option `prompts`: a user's folder whose files replace the prompts
of the same names. `touche-rad prompts NAME -o DIR` writes such a folder. The content of the files,
not the path of the folder, is part of a run's identity.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from touche_rad.errors import OptionError, UserError, nearest
from touche_rad.files.records import parse_toml, read_file
from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.models.prompts import Prompt
from touche_rad.records import FrozenRecord

PROFILE_FILE: Final = ".toml"
"""The end of the name of a profile that is a file."""
_SETTING: Final[JsonDict] = {"setting": True}

Setting = Annotated[T, Field(json_schema_extra=_SETTING)]
"""The type of a field of `Options` that only a profile can set."""


def is_setting(field: FieldInfo) -> bool:
    """Whether only a profile can set this field."""
    return field.json_schema_extra == _SETTING


@frozen
class Profile:
    """A named set of values for a plugin's options and settings."""

    name: str
    description: str
    settings: Mapping[str, Any]
    """What the profile sets, including what it takes over from the profiles that it extends."""
    extends: str = ""


class Options(FrozenRecord, use_attribute_docstrings=True):
    """Base class of a plugin's typed options.

    A subclass with a field `profile: str` has profiles: the values of the profile replace the
    defaults, and values that are given explicitly replace those of the profile. The text under a
    field is its description.
    """

    @model_validator(mode="before")
    @classmethod
    def _apply_profile(cls, values: object) -> Any:
        if not isinstance(values, Mapping) or not has_profiles(cls):
            return values
        profile = values.get("profile", cls.model_fields["profile"].default)
        return {**load_profile(cls, str(profile)).settings, **values}


def has_profiles(options: type[BaseModel]) -> bool:
    """Whether a class of options has profiles."""
    field = options.model_fields.get("profile")
    return field is not None and field.annotation is str


def load_profile(
    options: type[Options], name: str, folder: Path = Path(), seen: tuple[Path, ...] = ()
) -> Profile:
    """Load a bundled profile by its name, or a file by its path (`*.toml`)."""
    bundled = bundled_profiles(options)
    path = folder / name if name.endswith(PROFILE_FILE) else bundled.get(name)
    if not path:
        names = ", ".join(bundled) or "none"
        raise OptionError(
            f"there is no profile {name!r}; known profiles: {names} (or the path of a .toml file)"
        )
    path = path.resolve()
    if path in seen:
        raise OptionError(f"{path}: extends: the profile extends itself")
    if not path.is_file():
        raise OptionError(f"profile {name}: the file does not exist")
    read = _read(path, options) if name.endswith(PROFILE_FILE) else _read_bundled(path, options)
    base: Mapping[str, Any] = {}
    if read.extends:
        base = load_profile(options, read.extends, path.parent, (*seen, path)).settings
    return Profile(name, read.description, {**base, **read.settings}, read.extends)


def expected(error: ValidationError) -> str:
    """Return what a value should have been, in one line."""
    return str(error.errors()[0]["msg"]).removeprefix("Value error, ")


class _File(BaseModel, extra="forbid"):
    """The content of a profile file."""

    description: str
    extends: str = ""
    settings: dict[str, Any] = {}


def _read(path: Path, options: type[Options]) -> _File:
    """Read and validate a profile file."""
    try:
        content = parse_toml(read_file(path).decode())
    except (OSError, ValueError) as error:
        raise OptionError(f"{path}: not a TOML file: {error}") from error
    for key in content:
        if key not in _File.model_fields:
            hint = nearest(key, _File.model_fields)
            raise OptionError(f"{path}: {key}: unknown key{hint}; settings stand below [settings]")
    try:
        read = _File.model_validate(content)
    except ValidationError as error:
        raise OptionError(f"{path}: {error.errors()[0]['loc'][0]}: {expected(error)}") from None
    fields = {key: field for key, field in options.model_fields.items() if key != "profile"}
    for key, value in read.settings.items():
        if key not in fields:
            raise OptionError(f"{path}: settings.{key}: unknown setting{nearest(key, fields)}")
        try:
            read.settings[key] = adapter(fields[key]).validate_python(value)
        except ValidationError as error:
            raise OptionError(f"{path}: settings.{key}: {expected(error)}, got {value!r}") from None
    return read


_read_bundled: Final = cache(_read)


def adapter(field: FieldInfo) -> TypeAdapter[Any]:
    """Return what validates a value of a field."""
    annotated: Any = Annotated[field.annotation, field]
    return TypeAdapter(annotated)


@cache
def bundled_profiles(options: type[Options]) -> dict[str, Path]:
    """Return the files of the profiles that come with a plugin, by name."""
    folder = Path(inspect.getfile(options)).parent / "profiles"
    return dict(sorted((path.stem, path) for path in folder.glob("*.toml")))


PROMPTS: Final = "prompts"
"""The option that names a folder of prompt files."""
_SUFFIX: Final = ".jinja"


@cache
def prompt_files(factory: type) -> dict[str, Path]:
    """Return the prompt files of a plugin's package by name; empty if its module has none.

    A plugin has prompts if its own folder contains some; those of subfolders belong to it too.
    """
    folder = Path(inspect.getfile(factory)).parent
    prompts: dict[str, Path] = {}
    for pattern in (f"*{_SUFFIX}", f"**/*{_SUFFIX}"):
        for path in sorted(folder.glob(pattern)):
            if any(line.startswith("=== ") for line in path.read_text("utf-8").splitlines()):
                prompts[path.stem] = path
        if not prompts:
            break  # a user's folder may be large: its subfolders are not searched
    return prompts


@cache
def with_prompts_option(options: type[Options]) -> type[Options]:
    """Return a class of options with the option `prompts`."""
    described = Field("", description="Folder with your own prompt files: `touche-rad prompts`.")
    extended: type[Options] = create_model(
        options.__name__,
        __base__=options,
        __module__=options.__module__,
        **{PROMPTS: (str, described)},
    )  # type: ignore[call-overload]
    return extended


def check_folder(folder: Path, factory: type) -> None:
    """Raise an error if a user's folder has a file that cannot replace a prompt."""
    prompts = prompt_files(factory)
    paths = sorted(folder.glob(f"*{_SUFFIX}"))
    if not paths:
        raise OptionError(f"prompts={folder}: expected a folder with files NAME{_SUFFIX}")
    for path in paths:
        name = path.stem
        if name not in prompts:
            raise OptionError(f"{path}: there is no prompt {name!r}{nearest(name, prompts)}")
        unknown = Prompt.read(path, name).variables - Prompt.read(prompts[name], "").variables
        if unknown:
            raise UserError(f"{path}: unknown variables: {', '.join(sorted(unknown))}")


def digest_of_prompts(folder: Path) -> str:
    """Return a short hash of the prompt files of a folder."""
    content = hashlib.sha256()
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        content.update(f"{path.name}\0".encode() + read_file(path) + b"\0")
    return content.hexdigest()[:12]
