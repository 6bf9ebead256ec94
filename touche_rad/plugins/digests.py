"""What decides the results of a plugin besides its options: its code, and files that options name.

A run that is continued must find the same. The versions of other packages are no part of it: to
read them all takes long, and a run would end at every upgrade.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distribution,
    packages_distributions,
)
from itertools import chain
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import InputError
from touche_rad.plugins.profiles import PROFILE_FILE, load_profile
from touche_rad.plugins.registry import Configured, MayNameFile, NamesPlugins, split_plugins
from touche_rad.text import digest_of_text

_OURS: Final = ("touche_rad", "retrieval", "judges")
_FIRST_BYTES: Final = 4 * 2**20
_LAST_BYTES: Final = 2**20
"""Of a large file, such as a model's weights, the first and the last part and the size count."""
_IMPORTS: Final = re.compile(r"(?:^|[:;])\s*(?:from\s+(\w+)|import\s+([^;#\n]+))", re.MULTILINE)
_NO_CODE: Final = re.compile(r"\.\.|/|.*(?:\.dist-info/|__editable__|\.pyc,|\.pth,)")
"""Lines of a package's record that are not of its modules; a clone has no others."""


def code_of(configured: Configured) -> dict[str, str]:
    """Return a digest of everything that decides what a plugin does, by what it is of."""
    plugin = configured.plugin
    whose = f"{plugin.kind} {plugin.name}"
    module = plugin.factory.__module__
    digests: dict[str, str] = {}
    if not plugin.distribution:
        for name, file in _imported_beside(module):
            digests[f"--plugin {name}"] = digest_of(file)
    elif _is_ours(module):
        # Our version is part of every identity, and who works in a clone of ours changes much that
        # decides no answer, so only the folder of the plugin counts.
        digests[f"code of {whose}"] = digest_of(Path(sys.modules[module].__file__ or "").parent)
    else:
        # Another package in a clone is read whole, because its version says nothing.
        code = _recorded_digest(plugin.distribution)
        if not code:
            place = _place_of(module)
            code = digest_of(place) if place else plugin.distribution.version
        digests[f"code of {whose}"] = code
    for need in plugin.needs:
        needed = need.partition(":")[2].rpartition("/")[2]
        if needed:
            digests[f"package {needed}"] = _digest_of_package(needed.partition(".")[0])
    # A plugin may be named more than once, with other options.
    with_options = f"{plugin.kind} {configured.tag}"
    for option, path in named_files(configured):
        digests[f"{option} of {with_options}"] = digest_of(path)
    for _, value, mark in _marks(configured):
        # A variable of the environment replaces an empty option.
        if isinstance(mark, MayNameFile) and not value and (text := os.environ.get(mark.variable)):
            path = Path(text)
            # The path or address may be private.
            content = digest_of(path) if path.exists() else digest_of_text(text, 16)
            digests[f"variable {mark.variable}"] = content
    parts = list(_named_plugins(configured))
    if parts:  # their tags have the values of profile files and digests of prompts
        digests[f"plugins of {with_options}"] = ", ".join(part.tag for part in parts)
    for part in parts:
        digests |= code_of(part)
    return digests


def named_files(configured: Configured) -> Iterator[tuple[str, Path]]:
    """Yield the options of a plugin that name a file or folder, and its path."""
    paths = {option: value for option, value in configured.options if isinstance(value, Path)}
    for option, value, mark in _marks(configured):
        if isinstance(mark, MayNameFile) and isinstance(value, str) and value:
            paths[option] = Path(os.path.expanduser(value.removeprefix(mark.after)))
    for option, path in paths.items():
        if os.path.exists(configured.folder / path):
            yield option, configured.folder / path


def _marks(configured: Configured) -> Iterator[tuple[str, Any, object]]:
    """Yield what marks the options of a plugin, each with the option and its value."""
    for option, value in configured.options:
        for mark in type(configured.options).model_fields[option].metadata:
            yield option, value, mark


def refuse_files_outside(
    plan: Path, paths: Iterable[Path], models: Iterable[str], plugins: Iterable[Configured]
) -> None:
    """Raise an error if a plan names a file or folder outside its folder, or a link leads there.

    The plan may be a stranger's, and what it names may be sent to its servers. Prompt files of a
    stranger can take any time and memory. Models may be files,
    such as `scripted:FILE`; options of plugins may name files that extend others.
    """
    named = [*paths]
    for model in models:
        file = os.path.expanduser(model.partition(":")[2])
        if os.path.exists(file):
            named.append(Path(file))
    for part in chain.from_iterable(map(with_named, plugins)):
        named += [path for _, path in named_files(part)]
        if part.prompts:
            raise InputError(
                plan, f"{part.prompts}: a prompt file is a program: confirm with --trust"
            )
        place = part.folder
        profile = str(dict(part.options).get("profile"))
        while profile.endswith(PROFILE_FILE):
            extended = load_profile(type(part.options), profile, place).extends
            named.append((place / profile).resolve())
            place = named[-1].parent
            profile = extended
    folder = plan.parent.resolve()
    for path in named:
        for inner in chain([path], path.rglob("*")):
            if not Path(os.path.realpath(inner)).is_relative_to(folder):
                raise InputError(
                    plan, f"{inner} is outside the plan's folder: confirm with --trust"
                )


def with_named(configured: Configured) -> Iterator[Configured]:
    """Yield a plugin, and the plugins that its options and theirs name."""
    yield configured
    for part in _named_plugins(configured):
        yield from with_named(part)


def _named_plugins(configured: Configured) -> Iterator[Configured]:
    """Yield the plugins that options of a plugin name."""
    for _, value, mark in _marks(configured):
        if isinstance(mark, NamesPlugins):
            yield from map(mark.find, split_plugins(value))


def digest_of(path: Path) -> str:
    """Return a digest of a file, or of all files in a folder with their names."""
    content = sha256()
    # No broken link, pipe or device is a file.
    files = [path] if path.is_file() else sorted(filter(Path.is_file, path.rglob("*")))
    for file in files:
        if file.parent.name == "__pycache__":
            continue
        size = file.stat().st_size
        content.update(f"{file.relative_to(path)}\0{size}\0".encode(errors="surrogateescape"))
        with file.open("rb") as stream:
            content.update(stream.read(_FIRST_BYTES))
            stream.seek(max(_FIRST_BYTES, size - _LAST_BYTES))
            content.update(stream.read())
    return content.hexdigest()[:16]


def _digest_of_package(name: str) -> str:
    """Return a digest of the installed package that has a module; empty if none has it."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        names = packages_distributions().get(name)
        if not names:
            return ""
        package = distribution(names[0])
    return _recorded_digest(package) or package.version


def _recorded_digest(package: Distribution) -> str:
    """Return a digest of the hashes that an installer wrote; empty if the package is in a clone."""
    record = (package.read_text("RECORD") or "").splitlines()
    lines = sorted(line for line in record if not _NO_CODE.match(line))
    return digest_of_text("\n".join(lines), 16) if lines else ""


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in _OURS


def _file_of(module: str) -> Path | None:
    """Return the file of a module; None if it is built in, of a notebook, or gone meanwhile."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).absolute() if isinstance(file, str) else None


def _place_of(module: str) -> Path | None:
    """Return the file of the top module of a module, or the folder of its package."""
    file = _file_of(module.partition(".")[0])
    return file.parent if file and file.name == "__init__.py" else file


def _imported_beside(module: str) -> list[tuple[Path, Path]]:
    """Return the files of a plugin and of the modules beside it that it imports, now or later.

    Each has its path from the folder of the plugin.
    """
    place = _place_of(module)
    if not place or _is_ours(module):
        return []
    folder = place.parent
    files = set()
    pending = [_file_of(name) for name in list(sys.modules) if not _is_ours(name)]
    pending += place.rglob("*.py")  # of a package
    while pending:
        file = pending.pop()
        if not file or file in files or not file.is_relative_to(folder):
            continue
        installed = "site-packages" in file.parts or file.is_relative_to(sys.base_prefix)
        if file.is_file() and not installed:
            files.add(file)
            pending += _imports_of(file, folder)
    return sorted((file.relative_to(folder), file) for file in files)


def _imports_of(file: Path, folder: Path) -> Iterator[Path]:
    """Yield what a module may import from a folder, also in its functions; of packages, all."""
    for names in _IMPORTS.findall(file.read_text("utf-8", "replace")):
        for name in re.findall(r"\w+", "".join(names)):
            if not _is_ours(name):
                yield folder / f"{name}.py"
                yield from (folder / name).rglob("*.py")
