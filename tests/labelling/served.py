"""`touche-rad label` in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def labelling(*words: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command; yield the process and the address of its page."""
    command = [sys.executable, "-m", "touche_rad", "label", *map(str, words)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    address = re.search(r"http://127\.0\.0\.1:\S+", line)
    if address is None:
        process.kill()
        raise AssertionError(f"no address: {line}{process.communicate()[1]}")
    try:
        yield process, address[0]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
