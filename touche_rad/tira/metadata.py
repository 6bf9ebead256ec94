"""Write ir_metadata beside a run: its costs, its platform and its method.

tirex-tracker measures. This module chooses what is published: no user name, path, address or
secret. Errors here never stop the run.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from touche_rad import __version__, files
from touche_rad.text import redact_data
from touche_rad.tira import _tracking as tracking

log = logging.getLogger("touche_rad")

_PATIENCE = 20.0
"""Seconds that the tracker has to write its measurements."""
_SECRET = re.compile(r"key$|token$|secret|passw|credential", re.IGNORECASE)
_URL = re.compile(r"\b[a-zA-Z][\w+.-]{0,30}://[^\s,'\")]+")
_PATH = re.compile(r"(?<![\w./-])(?:~[\w.-]*|[A-Za-z]:|\.{1,2})?[/\\][^\s,;:'\")=]*")
_NOTHING = re.compile(r"^null\b")
_SOURCE = ("commit", "is repo", "uncommitted changes", "unpushed changes", "unchecked files")


def available() -> bool:
    """Whether tirex-tracker is installed."""
    return importlib.util.find_spec("tirex_tracker") is not None


@contextmanager
def tracked(
    out: Path, verb: str, method: Mapping[str, Any], report: Callable[[str], None]
) -> Iterator[None]:
    """Measure the run inside, and write its metadata if it succeeds; `report` gets a failure."""

    def fail(error: Exception) -> None:
        log.debug("the tracker failed", exc_info=error)
        report(" ".join(str(error).split()) or type(error).__name__)

    with ExitStack() as stack:
        tracker = None
        try:
            tracker = stack.enter_context(_tracker())
        except Exception as error:
            fail(error)
        yield
        if tracker is None:
            return
        try:
            metadata = redact_data(ir_metadata(_stop(*tracker), verb, method))
            with files.atomic_write(out) as stream:
                yaml.safe_dump(metadata, stream, sort_keys=False, allow_unicode=True)
        except Exception as error:
            fail(error)


@contextmanager
def _tracker() -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start the tracker in a session of its own, so that Ctrl-C does not reach it.

    Yield its process and the path of its measurements.
    """
    if not available():
        raise RuntimeError("there is no tirex-tracker (pip install 'touche-rad[tira]')")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        measured = Path(folder, "measured.yml")
        tracker = subprocess.Popen(
            [sys.executable, "-P", str(Path(tracking.__file__)), str(os.getpid()), str(measured)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={key: value for key, value in os.environ.items() if not _SECRET.search(key)},
            start_new_session=True,
        )
        try:
            yield tracker, measured
        finally:
            if tracker.poll() is None:
                tracker.kill()
                tracker.wait()


def _stop(tracker: subprocess.Popen[bytes], measured: Path) -> Mapping[str, Any]:
    _, output = tracker.communicate(timeout=_PATIENCE)
    if tracker.returncode:
        last = output.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"it ended with {tracker.returncode}: {' '.join(last)}")
    measurements = yaml.safe_load(measured.read_text("utf-8"))
    if not isinstance(measurements, dict):
        raise RuntimeError("it wrote nothing")
    return measurements


def ir_metadata(
    measurements: Mapping[str, Any], verb: str, method: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the publishable part of the tracker's measurements, with the command and method."""
    implementation = measurements.get("implementation") or {}
    source, python = implementation.get("source") or {}, implementation.get("python") or {}
    metadata: dict[str, Any] = {
        "schema version": measurements.get("schema version"),
        "method": {"name": method.get("name"), **method},
        "implementation": {
            "executable": {"cmd": ["touche-rad", verb], "version": __version__},
            "python": {
                "version": ".".join(map(str, sys.version_info[:3])),
                "packages": python.get("packages"),
            },
            "source": {key: source.get(key) for key in _SOURCE},
        },
        "platform": measurements.get("platform"),
        "resources": measurements.get("resources"),
    }
    return {key: _plain(value) for key, value in metadata.items()}


def _plain(value: Any) -> Any:
    """Remove secrets, time series and empty measurements, and shorten paths and addresses."""
    if isinstance(value, Mapping):
        return {
            str(key): _plain(inner)
            for key, inner in value.items()
            if key != "timeseries" and not _SECRET.search(str(key))
        }
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, str):
        return None if _NOTHING.match(value) else _without_places(value)
    return value if isinstance(value, bool | int | float | None) else _without_places(str(value))


def _without_places(text: str) -> str:
    """Replace paths by their last part, and addresses by `URL`."""
    text = _URL.sub("URL", text)
    return _PATH.sub(lambda match: re.split(r"[/\\]", match[0].rstrip("/\\"))[-1], text)
