"""The demo data: arguments, claims, debates and labels, written for this package."""

from __future__ import annotations

import fcntl
import hashlib
import os
from importlib.resources import files as resources
from pathlib import Path

from touche_rad.errors import UserError


def demo_file(name: str) -> Path:
    """Return the path of one of the bundled files."""
    return Path(str(resources(__package__).joinpath(name)))


def ensure_index() -> Path:
    """Return the index of the demo collection; the first call builds it in the user's cache folder.

    Its name contains our version and a digest of the collection. An index that cannot be opened is
    built again.
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
