"""Building the image without a Docker engine, and running it without a network.

The base image is made by mmdebstrap: a minimal Debian with Python. What this machine needs to
reach its package index (certificates, pip's settings) is lent to the build and stays out of it.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import ROOT
from tests.conftest import unavailable

BASE_IMAGE = "TOUCHE_RAD_BASE_IMAGE"
"""Names an image with Python 3.11 that buildah has, to build on it instead."""
_INCLUDED = "python3,python3-venv,ca-certificates"
_LO_UP = (
    "import fcntl, socket, struct; s = socket.socket(); "
    "fcntl.ioctl(s, 0x8914, struct.pack('16sH14s', b'lo', 0x49, b''))"
)
"""Sets the loopback device of a new network namespace up."""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@functools.cache
def _driver() -> str:
    """How buildah stores layers: overlay, or vfs where the kernel mounts no overlay.

    vfs copies the whole image for each container, which is most of what these tests would cost.
    """
    if "STORAGE_DRIVER" in os.environ:
        return os.environ["STORAGE_DRIVER"]
    process = subprocess.run(
        ["buildah", "--storage-driver", "overlay", "from", "scratch"],
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode != 0:
        return "vfs"
    name = process.stdout.strip()
    mounts = subprocess.run(
        ["buildah", "--storage-driver", "overlay", "mount", name], capture_output=True, check=False
    )
    subprocess.run(["buildah", "--storage-driver", "overlay", "rm", name], capture_output=True)
    return "overlay" if mounts.returncode == 0 else "vfs"


def environment() -> dict[str, str]:
    return {**os.environ, "STORAGE_DRIVER": _driver(), "BUILDAH_ISOLATION": "chroot"}


def buildah(*args: str | Path, timeout: float = 900) -> str:
    done = subprocess.run(
        ["buildah", *map(str, args)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, f"{' '.join(map(str, args))}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def size(image: str) -> int:
    """The bytes of an image, as all its files have them."""
    with mounted(image) as root:
        process = subprocess.run(
            ["du", "-sb", "--apparent-size", root], capture_output=True, text=True, check=True
        )
    return int(process.stdout.split()[0])


@contextmanager
def mounted(image: str) -> Iterator[Path]:
    """The whole file tree of an image, to look at."""
    container = buildah("from", image)
    try:
        yield Path(buildah("mount", container))
    finally:
        buildah("rm", container)


@contextmanager
def base_image() -> Iterator[str]:
    """An image with Python: the one that the environment names, or one of our own."""
    named = os.environ.get(BASE_IMAGE)
    if named:
        yield named
        return
    if shutil.which("mmdebstrap") is None:
        unavailable(f"mmdebstrap: apt-get install mmdebstrap, or name an image: {BASE_IMAGE}")
    with tempfile.TemporaryDirectory(prefix="touche-rad-base-") as folder:
        packed = Path(folder, "base.tar")
        subprocess.run(
            ["mmdebstrap", "--variant=minbase", f"--include={_INCLUDED}", "bookworm", packed],
            check=True,
            capture_output=True,
            timeout=600,
        )
        container = buildah("from", "scratch")
        buildah("add", "-q", container, packed, "/")
        buildah(
            "config",
            "--env",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            container,
        )
        buildah("commit", "-q", container, "localhost/touche-rad-base")
        buildah("rm", container)
    yield "localhost/touche-rad-base"


def needed() -> None:
    """Skip where the image cannot be built."""
    if shutil.which("buildah") is None:
        unavailable("buildah: apt-get install buildah mmdebstrap")
    if os.geteuid() != 0:
        unavailable("root, to build an image without a Docker engine")


def build(tag: str, *, target: str = "slim", context: Path = ROOT, **arguments: str) -> None:
    """Build a target of a Dockerfile; certificates and pip's settings are lent, not kept."""
    build_arguments = [
        part for argument in arguments.items() for part in ("--build-arg", "=".join(argument))
    ]
    lent: list[str] = []
    certificates = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    if certificates:
        lent += ["--volume", f"{certificates}:/etc/ssl/certs/ca-certificates.crt:ro"]
    with tempfile.TemporaryDirectory(prefix="touche-rad-pip-") as folder:
        settings = Path(folder, "pip.conf")
        settings.write_text(_pip_settings())
        lent += ["--volume", f"{settings}:/etc/pip.conf:ro"]
        for line in _pip_config().splitlines():
            for word in line.split("'"):
                place = word.strip().removeprefix("file://")
                if place.startswith("/") and Path(place).is_dir():
                    lent += ["--volume", f"{place}:{place}:ro"]
        options = f"--format docker --target {target} --network host -t {tag}".split()
        buildah("bud", *options, *build_arguments, *lent, context)


@functools.cache
def _pip_config() -> str:
    return subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout


def indexes() -> list[str]:
    """The addresses that pip has packages from here, which no image may name."""
    hosts = re.findall(r"https?://(?:[^\s/@']*@)?([^\s/:']+)", _pip_config())
    common = {".".join(parts) for parts in (("pypi", "org"), ("files", "pythonhosted", "org"))}
    return sorted({*common, *hosts} - {"localhost", "127.0.0.1"})


def _pip_settings() -> str:
    """Turn `pip config list` into a settings file, with the certificates where they are lent."""
    lines = ["[global]", "cert = /etc/ssl/certs/ca-certificates.crt"]
    for line in _pip_config().splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.partition(".")
        if section == "global" and name in ("index-url", "extra-index-url", "find-links"):
            lines.append(f"{name} = {value.strip(chr(39))}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Image:
    """A built image that is run as its own user, without a network."""

    name: str
    base: str

    def run(
        self,
        *args: str,
        mounts: Mapping[Path, str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run a command in a fresh container; its network has a loopback and no more."""
        places, values = (mounts or {}).items(), (env or {}).items()
        options = [part for place, at in places for part in ("--volume", f"{place}:{at}")]
        options += [part for key, value in values for part in ("--env", f"{key}={value}")]
        container = buildah("from", self.name)
        run = shlex.join(
            ["buildah", "run", "--isolation", "chroot", *options, container, "--", *args]
        )
        try:
            done = subprocess.run(
                ["unshare", "--net", "sh", "-c", f'{sys.executable} -c "{_LO_UP}"; exec {run}'],
                env=environment(),
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
        finally:
            buildah("rm", container)
        return Ran(done.returncode, done.stdout, done.stderr)
