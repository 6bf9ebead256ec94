"""Write the package of a new plugin: one working step, an entry point and a contract test."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Final, Literal

from touche_rad.criteria import shipped_names
from touche_rad.errors import UserError
from touche_rad.files.outputs import check_output
from touche_rad.files.records import write_text
from touche_rad.plugins.registry import registered
from touche_rad.text import filled_template

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def write_package(
    kind: Literal["debater", "judge", "panel", "retriever"], name: str, folder: Path
) -> list[Path]:
    """Write the package into a new or empty folder and return its files."""
    package = name.replace("-", "_")
    if not _NAME.fullmatch(name) or keyword.iskeyword(package):
        raise UserError(f"{name!r}: expected a name such as my-{kind}: a-z, 0-9, single hyphens")
    if name in registered(kind):
        raise UserError(f"there is a {kind} {name!r} already; choose another name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: exists and is not an empty folder; choose another with -o DIR")
    values = {
        "kind": kind,
        "name": name,
        "package": package,
        "cls": "".join(part.capitalize() for part in name.split("-")),
    }
    templates = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        "gitignore": ".gitignore",
        f"{kind}.py": f"{package}/__init__.py",
        "test_contract.py": "tests/test_contract.py",
    }
    if kind in ("debater", "judge"):  # what can be submitted
        templates |= {
            "Dockerfile": "Dockerfile",
            "tira.yml": "tira.yml",
            "collection.md": "docker/collection/README.md",
        }
    paths = []
    for template, path in templates.items():
        paths.append(folder / path)
        _write(template, paths[-1], **values)
    return paths


def write_criteria(name: str, path: Path) -> None:
    """Write a file of criteria with a question of each kind."""
    if not _NAME.fullmatch(name) or name in shipped_names():
        raise UserError(f"{name!r}: expected a new name such as my-criteria: a-z, 0-9, hyphens")
    check_output(path, replace=False, fix="choose another file with -o")
    _write("criteria.toml", path, name=name)


def _write(template: str, path: Path, **values: str) -> None:
    write_text(path, filled_template(__package__, f"templates/{template}.jinja", **values))
