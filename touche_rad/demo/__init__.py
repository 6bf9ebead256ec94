"""The bundled demo data: a small argument collection, claims, debates and hand labels, all ours."""

from __future__ import annotations

import fcntl
import hashlib
import os
from importlib.resources import files as resources
from pathlib import Path

from touche_rad.errors import UserError

FILES = ("arguments.jsonl", "claims.tsv", "debates.jsonl", "labels.jsonl")


def demo_file(name: str) -> Path:
    """Return the path of one of the bundled files."""
    return Path(str(resources(__package__).joinpath(name)))


def ensure_index() -> Path:
    """Return the folder of the demo collection's index, made at the first call.

    It lives in the user's cache folder under a name made from the collection and our version. One
    that cannot be opened, such as another version's, is made anew.
    """
    from touche_rad import __version__, files
    from touche_rad.plugins import build_index, open_index

    source = demo_file("arguments.jsonl")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    place = _cache() / f"demo-index-{__version__}-{digest}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes may start at the same time
        try:
            open_index(str(place))
        except UserError:
            build_index(files.read_arguments(source), str(place), replace=True)
    return place


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "touche-rad"
