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
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from touche_rad import __version__, files
from touche_rad.text import redact_data
from touche_rad.tira import tracking

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
    try:
        return importlib.util.find_spec("tirex_tracker") is not None
    except (ImportError, ValueError):
        return False


class Tracked:
    """A context around a run; if the run succeeds, the metadata is written."""

    def __init__(self, out: Path, verb: str, method: Mapping[str, Any]) -> None:
        self.out, self.verb, self.method = out, verb, method
        self.failure = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._tracker: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Tracked:
        try:
            if not available():
                raise RuntimeError("there is no tirex-tracker (pip install 'touche-rad[tira]')")
            self._folder = tempfile.TemporaryDirectory(prefix="touche-rad-tracker-")
            self._tracker = self._start(Path(self._folder.name, "seen.yml"))
        except Exception as error:
            self._fail(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._folder is not None and self._tracker is not None:
                seen = self._stop(Path(self._folder.name, "seen.yml"))
                if kind is None:
                    self._write(seen)
        except Exception as broken:
            self._fail(broken)
        finally:
            self._end()

    def _start(self, seen: Path) -> subprocess.Popen[bytes]:
        """Start the tracker in a session of its own, so that Ctrl-C does not reach it."""
        environment = {k: v for k, v in os.environ.items() if not _SECRET.search(k)}
        return subprocess.Popen(
            [sys.executable, "-P", str(Path(tracking.__file__)), str(os.getpid()), str(seen)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )

    def _stop(self, seen: Path) -> Mapping[str, Any]:
        assert self._tracker is not None
        _, output = self._tracker.communicate(timeout=_PATIENCE)
        if self._tracker.returncode:
            last = output.decode(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"it ended with {self._tracker.returncode}: {' '.join(last)}")
        read = yaml.safe_load(seen.read_text("utf-8"))
        if not isinstance(read, dict):
            raise RuntimeError("it wrote nothing")
        return read

    def _write(self, seen: Mapping[str, Any]) -> None:
        metadata = redact_data(ir_metadata(seen, self.verb, self.method))
        with files.atomic_write(self.out) as stream:
            yaml.safe_dump(metadata, stream, sort_keys=False, allow_unicode=True)

    def _end(self) -> None:
        if self._tracker is not None and self._tracker.poll() is None:
            self._tracker.kill()
            self._tracker.wait()
        if self._folder is not None:
            with suppress(OSError):
                self._folder.cleanup()

    def _fail(self, error: Exception) -> None:
        log.debug("the tracker failed", exc_info=error)
        self.failure = " ".join(str(error).split()) or type(error).__name__


def ir_metadata(seen: Mapping[str, Any], verb: str, method: Mapping[str, Any]) -> dict[str, Any]:
    """Return the publishable part of the tracker's measurements, with the command and method."""
    implementation = seen.get("implementation") or {}
    source, python = implementation.get("source") or {}, implementation.get("python") or {}
    metadata = {
        "schema version": seen.get("schema version"),
        "method": {"name": method.get("name"), **method},
        "implementation": {
            "executable": {"cmd": ["touche-rad", verb], "version": __version__},
            "python": {
                "version": ".".join(map(str, sys.version_info[:3])),
                "packages": python.get("packages"),
            },
            "source": {key: source.get(key) for key in _SOURCE},
        },
        "platform": seen.get("platform"),
        "resources": seen.get("resources"),
    }
    plain: dict[str, Any] = _plain(metadata)
    return plain


def _plain(value: Any) -> Any:
    """Remove secrets, time series and empty measurements, and shorten paths and addresses."""
    if isinstance(value, Mapping):
        named = {str(key): inner for key, inner in value.items()}
        return {
            key: _plain(inner)
            for key, inner in named.items()
            if key != "timeseries" and not _SECRET.search(key)
        }
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, str):
        return None if _NOTHING.match(value) else _without_places(value)
    return value if isinstance(value, bool | int | float | None) else _without_places(str(value))


def _without_places(text: str) -> str:
    """Replace paths by their last part, and addresses by `URL`."""
    text = _URL.sub("URL", text)
    return _PATH.sub(lambda found: re.split(r"[/\\]", found[0].rstrip("/\\"))[-1], text)
