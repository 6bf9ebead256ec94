"""Temporary folders of workers: those of killed processes are removed, and no others."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from touche_rad.runs.folders import LockedFolder, remove_abandoned

SCRIPT = """
import time
from touche_rad.runs.folders import LockedFolder
folder = LockedFolder()
(folder.path / "file").touch()
print(folder.path, flush=True)
time.sleep(600)
"""


def test_folders_of_killed_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    ours = LockedFolder()
    other = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    theirs = Path(other.stdout.readline().strip())
    stranger = tmp_path / "other-folder"
    stranger.mkdir()
    remove_abandoned()
    assert sorted(tmp_path.iterdir()) == sorted([ours.path, theirs, stranger])
    other.kill()
    other.wait()
    other.stdout.close()
    remove_abandoned()
    assert sorted(tmp_path.iterdir()) == sorted([ours.path, stranger])
    ours.remove()
    assert list(tmp_path.iterdir()) == [stranger]
