"""What an index folder says of itself, and whether that is true."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from retrieval.analyser import NAME as ANALYSER
from touche_rad import __version__
from touche_rad.errors import UserError

FILE = "manifest.json"
FORMAT = 4


class Manifest(BaseModel):
    """The description of an index folder."""

    model_config = ConfigDict(frozen=True)

    format: int
    collection: str
    arguments: int
    fields: dict[str, int]
    analyser: str
    sizes: dict[str, int]
    versions: dict[str, str]


def write_manifest(folder: Path, collection: str, arguments: int, fields: dict[str, int]) -> None:
    """Describe a folder that is whole."""
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    engines = ("pyterrier", "pyterrier-pisa")
    manifest = Manifest(
        format=FORMAT, collection=collection, arguments=arguments, fields=fields,
        analyser=ANALYSER, sizes=sizes,
        versions={"touche-rad": __version__}
        | {name: importlib.metadata.version(name) for name in engines},
    )  # fmt: skip
    (folder / FILE).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read and check a folder's description; whatever is wrong is told with what to do about it."""
    again = "make it anew with: touche-rad index SOURCE -o DIR --replace"
    if not folder.is_dir():
        raise UserError(f"{folder}: no index there; make it with: touche-rad index SOURCE -o DIR")
    try:
        manifest = Manifest.model_validate(json.loads((folder / FILE).read_text("utf-8")))
    except FileNotFoundError:
        raise UserError(f"{folder}: expected an index folder, it has no {FILE}") from None
    except (OSError, ValueError, ValidationError):
        raise UserError(f"{folder}: the index's {FILE} cannot be read; {again}") from None
    if (manifest.format, manifest.analyser) != (FORMAT, ANALYSER):
        raise UserError(f"{folder}: the index was made by another version of touche-rad; {again}")
    for name, size in manifest.sizes.items():
        path = folder / name
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            told = "missing" if found is None else f"{found} bytes long instead of {size}"
            raise UserError(f"{folder}: the index is damaged: {name} is {told}; {again}")
    return manifest
