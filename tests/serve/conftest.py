"""Servers as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.careless import Serve, end_server, free_port, wait_for


@pytest.fixture(scope="module")
def serve(demo_index_path: Path) -> Iterator[Serve]:
    """Start `touche-rad serve`, and end it after the tests."""
    servers: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> tuple[subprocess.Popen[bytes], str]:
        port = free_port()
        command = f"-m touche_rad serve -i {demo_index_path} -q --port {port}".split()
        # A server that does not end says on stderr where each thread is: see `end_server`.
        shows_threads = {**os.environ, "PYTHONFAULTHANDLER": "1"}
        server = subprocess.Popen([sys.executable, *command, *words], env=shows_threads)
        servers.append(server)
        wait_for(f"http://127.0.0.1:{port}", server.poll)
        return server, f"http://127.0.0.1:{port}"

    yield start
    for server in servers:
        end_server(server)
