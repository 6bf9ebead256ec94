"""Start a server, and stop it with all its child processes when the owner has ended.

Run as `python keeper.py COMMAND ...`; imports nothing of touche_rad. When standard input ends,
because the owner closed it or was killed, the process group of the server is stopped.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

_PATIENCE = 10.0
_STEP = 0.2


def keep(command: list[str]) -> int:
    """Run the command until it ends or standard input ends."""
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        restore_signals=True,
        preexec_fn=_defaults,
    )
    wanted = True
    while server.poll() is None and wanted:
        readable, _, _ = select.select([0], [], [], _STEP)
        wanted = not readable or bool(os.read(0, 1024))
    _end(server)
    return server.wait()


def _defaults() -> None:
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)


def _end(server: subprocess.Popen[bytes]) -> None:
    """Terminate the process group, then kill it; children may outlive the server."""
    _signal(server.pid, signal.SIGTERM)
    end = time.monotonic() + _PATIENCE
    while server.poll() is None and time.monotonic() < end:
        time.sleep(_STEP / 4)
    _signal(server.pid, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
