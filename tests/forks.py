"""Runs in forks of the test process, for kill tests: each starts in a millisecond."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable


def fork(work: Callable[[], int]) -> int:
    """Start work, which returns an exit code, in a process of its own and return its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = work()
    finally:
        os._exit(code)


def survived(pid: int) -> bool:
    """Wait for a run to end; False when it was killed."""
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "the run failed by itself"
    return True
