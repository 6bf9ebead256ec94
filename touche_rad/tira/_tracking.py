"""The tracker's process: measures another process until its input ends, then writes the results.

tirex-tracker runs native code that can crash its process; in a process of its own, a crash does not
stop the run.
"""

from __future__ import annotations

import sys
from pathlib import Path

_LEFT_OUT = frozenset(
    (
        "GIT_ARCHIVE_PATH",
        "GIT_HASH",
        "GIT_ROOT",
        "GIT_REMOTE_ORIGIN",
        "GIT_BRANCH",
        "GIT_BRANCH_UPSTREAM",
        "GIT_TAGS",
        "INVOCATION",
        "DEVCONTAINER_CONF_PATHS",
        "PYTHON_MODULES",
        "PYTHON_NOTEBOOK_FILE_PATH_IN_CODE_ARCHIVE",
    )
)
"""Measures that contain a person's paths and addresses, or read the whole repository."""
_EVERY_MS = 250


def main(pid: int, out: Path) -> None:
    """Measure the process `pid` and write ir_metadata to `out`."""
    from tirex_tracker import ALL_MEASURES, ExportFormat, start_tracking

    handle = start_tracking(
        measures=[measure for measure in ALL_MEASURES if measure.name not in _LEFT_OUT],
        poll_intervall_ms=_EVERY_MS,
        pid=pid,
        export_file_path=out,
        export_format=ExportFormat.IR_METADATA,
    )
    sys.stdin.buffer.read()
    handle.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
