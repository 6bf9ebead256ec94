"""What decides the results of a plugin besides its options: its code, and files that options name.

A run that is continued must find the same. The versions of other packages are no part of it: to
read them all takes long, and a run would end at every upgrade.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distribution,
    packages_distributions,
)
from pathlib import Path
from typing import Final

from touche_rad.plugins.registry import Configured

_OURS: Final = ("touche_rad", "retrieval", "judges")
_LARGE: Final = 4 * 2**20
_PART: Final = 2**20
"""Of a larger file, such as a model's weights, the first and last part and the size count."""


def code_of(plugin: Configured) -> dict[str, str]:
    """Return a digest of everything that decides what a plugin does, by what it is of."""
    whose = f"{plugin.kind} {plugin.name}"
    module = plugin.plugin.factory.__module__
    digests: dict[str, str] = {}
    if plugin.plugin.distribution is not None:
        digests[f"code of {whose}"] = _digest_of_code(plugin.plugin.distribution, module)
    else:
        for name, file in _imported_beside(module):
            digests[f"--plugin {name}"] = digest_of(file)
    for need in plugin.needs:
        needed = need.partition(":")[2].rpartition("/")[2]
        if needed:
            digests[f"package {needed}"] = _digest_of_package(needed.partition(".")[0])
    for option, place in plugin.places():
        digests[f"{option} of {whose}"] = digest_of(place)
    for part in plugin.parts():
        digests |= code_of(part)
    return digests


def digest_of(path: Path) -> str:
    """Return a digest of a file, or of all files in a folder with their names."""
    content = sha256()
    for file in [path] if path.is_file() else _files_in(path):
        size = file.stat().st_size
        content.update(f"{file.relative_to(path)}\0{size}\0".encode(errors="surrogateescape"))
        with file.open("rb") as stream:
            if size <= _LARGE:
                content.update(stream.read())
                continue
            content.update(stream.read(_PART))
            stream.seek(-_PART, os.SEEK_END)
            content.update(stream.read())
    return content.hexdigest()[:16]


def _files_in(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if (file := Path(place, name)).is_file():  # no broken link, pipe or device
                yield file


def _digest_of_code(package: Distribution, module: str) -> str:
    """Return a digest of an installed package; of our own one, of the folder of the plugin.

    Our version is part of every identity, and who works in a clone of ours changes much that
    decides no answer. Another package in a clone is read whole, because its version says nothing.
    """
    if module.partition(".")[0] in _OURS:
        return digest_of(_file_of(module).parent)
    return _recorded_digest(package) or digest_of(_place_of(module.partition(".")[0]))


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
    lines = []
    for line in (package.read_text("RECORD") or "").splitlines():
        name = line.partition(",")[0]
        inside = not name.startswith(("..", "/")) and ".dist-info/" not in name
        if inside and not name.endswith((".pyc", ".pth")) and "__editable__" not in name:
            lines.append(line)
    return sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16] if lines else ""


def _file_of(module: str) -> Path:
    return Path(inspect.getfile(sys.modules[module])).absolute()


def _place_of(top: str) -> Path:
    """Return the file of a top module, or the folder of a package."""
    file = _file_of(top)
    return file.parent if file.name == "__init__.py" else file


def _imported_beside(module: str) -> list[tuple[Path, Path]]:
    """Return the files of a plugin and of the modules beside it that it imported.

    Each has its path from the folder of the plugin.
    """
    top = module.partition(".")[0]
    if top in _OURS or top not in sys.modules:
        return []
    try:
        folder = _place_of(top).parent
    except TypeError:  # of a notebook
        return []
    files = set()
    for name, imported in list(sys.modules.items()):
        if name.partition(".")[0] in _OURS or not inspect.ismodule(imported):
            continue
        try:
            file = _file_of(name)
        except (TypeError, KeyError):  # built in, or gone meanwhile
            continue
        installed = "site-packages" in file.parts or file.is_relative_to(sys.base_prefix)
        if file.is_relative_to(folder) and file.is_file() and not installed:
            files.add((file.relative_to(folder), file))
    return sorted(files)
