"""Runs in forks of the test process, for kill tests: each starts in a millisecond."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from touche_rad import cli


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


def run_until(words: list[str], folder: Path, number: int) -> bool:
    """Run a command that is killed before it opens, renames or removes a file for the nth time.

    Only files of the folder count. False when the command was killed, and did not end before.
    """
    count = itertools.count(1)

    def kill(event: str, values: tuple[object, ...]) -> None:
        is_ours = event in ("open", "os.rename", "os.remove") and str(folder) in str(values[0])
        if is_ours and next(count) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> int:
        sys.addaudithook(kill)
        return cli.run(words)

    return survived(fork(work))
