"""Outputs that exist already: what they are, and the one rule for replacing them.

An output that holds something is replaced only if the user says so. A command that is repeated
(same plugin, options and input) may write its own output again:

- A run knows its output by `OUT.status.json`, with its identity and the digest of what it wrote.
- A quick command, such as `report` or `retrieve`, writes the same bytes again, and nothing changes
  (`keeping`). What would be other bytes is refused.
- A slow command that is no run, such as `audit`, writes such a status too
  (`touche_rad/cli/own_output.py`).
"""

from __future__ import annotations

import filecmp
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import UserError, refuse_newer
from touche_rad.files.records import STANDARD_OUTPUT, Place, check_writes

STATUS: Final = ".status.json"
STATUS_FORMAT: Final = 1
_PLUGINS: Final = ("debater", "judge", "debaters")


def check_output(path: Place | None, *, replace: bool) -> None:
    """Raise an error if a file or a folder holds something and must not be replaced.

    Args:
        path: The output; None and the standard output are always free, and so are pipes.
        replace: Whether the user allows to replace it.
    """
    if not replace and _is_taken(path):
        raise _taken(Path(str(path)))


@contextmanager
def keeping(path: Place | None, *, replace: bool) -> Iterator[None]:
    """Let what runs inside write this output, or the files in it, only with the bytes it has.

    Args:
        path: The output; one that holds nothing can be written freely.
        replace: Whether the user allows to replace it.
    """
    if replace or not _is_taken(path):
        yield
        return
    kept = Path(str(path))
    real = kept.resolve()

    def check(target: Path, written: Path) -> None:
        inside = target == real or real in target.parents
        if inside and not (target.is_file() and filecmp.cmp(target, written, shallow=False)):
            raise _taken(kept)

    with check_writes(check):
        yield


def _is_taken(path: Place | None) -> bool:
    return path is not None and str(path) not in STANDARD_OUTPUT and _holds(Path(path))


def _taken(path: Path) -> UserError:
    return UserError(
        f"{path} exists already ({_describe(path)}): replace it with --replace, or choose another "
        "output"
    )


def is_output_of(path: Path, identity: Mapping[str, Any]) -> bool:
    """Whether a file is the finished output of a run with this identity, and unchanged since."""
    status = _status(path)
    return (
        path.is_file()
        and status.get("state") == "done"
        and status.get("identity") == identity
        and status.get("sha256") == sha256_of(path)
    )


def sha256_of(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def status_beside(path: Path) -> Path:
    """Return the path of the status beside a run's output."""
    return path.with_name(f"{path.name}{STATUS}")


def read_status(run: Path) -> dict[str, Any]:
    """Return the status of a run, beside it or in TIRA's folder; empty if there is none.

    Raises:
        UserError: A newer version wrote it.
    """
    for path in (status_beside(run), run.with_name("status.json")):
        try:
            status = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        refuse_newer(path, status, STATUS_FORMAT)
        if isinstance(status, dict) and Path(str(status.get("output"))).name == run.name:
            return status
    return {}


def _holds(path: Path) -> bool:
    if path.is_dir():
        return any(path.iterdir())
    return path.is_file() and path.stat().st_size > 0


def _status(path: Path) -> dict[str, Any]:
    try:
        status = json.loads(status_beside(path).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}


def _describe(path: Path) -> str:
    """Describe what lies at a path: the run that wrote it, or the kind of file."""
    if path.is_dir():
        return "a folder with files"
    status = _status(path)
    identity = status.get("identity")
    if status.get("state") == "done" and isinstance(identity, dict):
        plugin = next((f" by {identity[key]}" for key in _PLUGINS if key in identity), "")
        made = f"{status.get('verb')}{plugin}, {str(status.get('finished'))[:16].replace('T', ' ')}"
        return made if status.get("sha256") == sha256_of(path) else f"{made}, changed since then"
    from touche_rad.files.formats import detect_kind

    try:
        return str(detect_kind(path))
    except UserError:
        return f"{path.stat().st_size} bytes"
