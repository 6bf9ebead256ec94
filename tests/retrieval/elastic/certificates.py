"""Certificates of an own CA, made with openssl on the spot."""

from __future__ import annotations

import subprocess
from pathlib import Path

_NEW = "req -x509 -newkey rsa:2048 -nodes -days 2"
_COMMANDS = (
    f"{_NEW} -subj /CN=CA -keyout ca.key -out ca.crt",
    f"{_NEW} -subj /CN=test -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    " -addext basicConstraints=critical,CA:FALSE"
    " -CA ca.crt -CAkey ca.key -keyout server.key -out server.crt",
)


def certificates(folder: Path) -> None:
    """Make a CA and a server's certificate by it: ca.crt, server.crt, server.key."""
    for words in _COMMANDS:
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
