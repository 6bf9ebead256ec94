"""Running an image by what it declares, as `docker run --read-only --network none --tmpfs /tmp` does.

Its user, environment, folder, entry point and health check are read from the image. Its root is
mounted so that nobody, root included, can write to it.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.container.building import _LO_UP, Ran, buildah, mounted


@dataclass(frozen=True)
class Declared:
    """An image's file tree, and what it says of how it is to be run."""

    root: Path
    user: str
    environment: Mapping[str, str]
    folder: str
    command: tuple[str, ...]
    health: tuple[str, ...]

    def run(
        self,
        *args: str,
        mounts: Mapping[Path, str] | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> Ran:
        """Run a command in it, as its own user if no other is named; it has to succeed."""
        who = (user if user is not None else self.user) or "0"
        ids = who if ":" in who else f"{who}:{who}"
        variables = {"HOME": self._home(ids), **self.environment, **(env or {})}
        inside = [
            "chroot",
            f"--userspec={ids}",
            str(self.root),
            "env",
            "-i",
            *(f"{name}={value}" for name, value in variables.items()),
            "sh",
            "-c",
            f"cd {shlex.quote(self.folder)}; exec {shlex.join(args)}",
        ]
        script = "\n".join([*self._mounted(mounts or {}), f"exec {shlex.join(inside)}"])
        done = subprocess.run(
            ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", script],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    def _home(self, ids: str) -> str:
        """The user's folder, as an engine sets it: of one that the image does not know, the root."""
        known = (self.root / "etc" / "passwd").read_text().splitlines()
        users = (line.split(":") for line in known)
        return next((user[5] for user in users if user[2] == ids.partition(":")[0]), "/")

    def _mounted(self, mounts: Mapping[Path, str]) -> Iterator[str]:
        """The shell's lines that set up a namespace of our own; it ends with the command."""
        root = shlex.quote(str(self.root))
        yield f"{sys.executable} -c {shlex.quote(_LO_UP)}"
        yield f"echo 127.0.0.1 localhost > {root}/etc/hosts"
        yield f"mount --bind {root} {root}"
        yield f"mount -t tmpfs -o mode=1777 tmpfs {root}/tmp"
        yield f"mount -t proc proc {root}/proc"
        yield f"mount --rbind /dev {root}/dev"
        for place, at in mounts.items():
            inside, _, how = at.partition(":")
            target = shlex.quote(f"{self.root}{inside}")
            yield f"mkdir -p {target}"
            yield f"mount --bind {shlex.quote(str(place))} {target}"
            if how == "ro":
                yield f"mount -o remount,bind,ro {target}"
        yield f"mount -o remount,bind,ro {root}"


@contextmanager
def declared(image: str) -> Iterator[Declared]:
    """An image as it says it is to be run; its tree is a copy, thrown away afterwards."""
    description: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", image))
    about = description["Docker"]["config"]
    health = (about.get("Healthcheck") or {}).get("Test") or ["NONE"]
    with mounted(image) as root:
        yield Declared(
            root=root,
            user=about.get("User") or "",
            environment=dict(variable.split("=", 1) for variable in about.get("Env") or ()),
            folder=about.get("WorkingDir") or "/",
            command=(*(about.get("Entrypoint") or ()), *(about.get("Cmd") or ())),
            health=tuple(health[1:]),
        )


def lent(folder: Path, *names: str) -> Path:
    """A folder that anyone may write to, below one that anyone may enter."""
    place = folder.joinpath(*names)
    place.mkdir(parents=True, exist_ok=True)
    for parent in (place, *place.parents):
        if parent.is_relative_to(folder):
            parent.chmod(0o777)
    return place
