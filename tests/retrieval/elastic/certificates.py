"""Certificates of an own CA, made with openssl on the spot."""

from __future__ import annotations

import subprocess
from pathlib import Path

LOOPBACK = "DNS:localhost,IP:127.0.0.1"


def certificates(folder: Path, *, days: int = 2, names: str = LOOPBACK) -> None:
    """Make a CA and a server's certificate by it: ca.crt, server.crt, server.key.

    A CA and a key that are there are used again. Fewer days than none give an expired certificate.
    """
    if not (folder / "ca.crt").exists():
        _openssl(
            folder,
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            "ca.key",
            "-out",
            "ca.crt",
            "-days",
            "2",
            "-subj",
            "/CN=CA of a test",
        )
    if not (folder / "server.key").exists():
        _openssl(folder, "genrsa", "-out", "server.key", "2048")
    _openssl(folder, "req", "-new", "-key", "server.key", "-out", "server.csr", "-subj", "/CN=test")
    (folder / "names").write_text(f"subjectAltName={names}\n")
    _openssl(
        folder,
        "x509",
        "-req",
        "-in",
        "server.csr",
        "-CA",
        "ca.crt",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        str(days),
        "-extfile",
        "names",
        "-out",
        "server.crt",
    )


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
