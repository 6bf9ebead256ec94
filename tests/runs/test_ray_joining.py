"""`--engine ray` with a RAY_ADDRESS where no cluster answers ends with one line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal import Ended
from touche_rad.demo import demo_file

pytestmark = pytest.mark.services

SCRIPT = """
import sys
from touche_rad import cli
sys.exit(cli.run(sys.argv[1:]))
"""
JUDGE = ("judge", str(demo_file("debates.jsonl")), "-j", "length", "-q", "--engine", "ray")


def judged(folder: Path, address: str) -> Ended:
    """Judge with a cluster that has 8 seconds to answer."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *JUDGE, "-o", "out.jsonl"],
        cwd=folder,
        capture_output=True,
        env={**os.environ, "RAY_ADDRESS": address},
        text=True,
        timeout=240,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_closed_port(tmp_path: Path, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{scheme}127.0.0.1:{server.getsockname()[1]}"
    done = judged(tmp_path, address)
    assert done.err == (
        f"touche-rad: error: no Ray cluster answers at {address} (Connection refused): start one "
        "with ray start, or correct or unset RAY_ADDRESS\n"
    )
    assert done.code == 1
