"""Real Elasticsearch servers on loopback: one open, and a cluster of three with TLS and users."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import unavailable

NOBODY = 65534
PASSWORD = "a long pass-word of tests"
READER, READER_PASSWORD = "reader", "another pass-word of tests"
LOADER, LOADER_PASSWORD = "loader", "a third pass-word of tests"
"""A user who may do what loading needs, except merging segments."""
ROLES = """reader:
  indices:
    - names: ["demo*"]
      privileges: [read, view_index_metadata]
loader:
  indices:
    - names: ["*"]
      privileges: [read, write, view_index_metadata, create_index, "indices:admin/aliases*",
                   "indices:admin/mapping/*", "indices:admin/refresh*"]
"""
READY = 180.0
NAMED = "TOUCHE_RAD_ELASTICSEARCH"
# Whoever starts the server holds the other end of its standard input. However that one ends, the
# whole group is killed; a server whose tests were killed would run on for ever.
WITH_ITS_STARTER = 'exec 3<&0; (cat <&3 >/dev/null; kill -KILL 0) & exec "$0" </dev/null 3<&-'
JAVA = "-Xms512m -Xmx512m -XX:TieredStopAtLevel=1"
"""A small heap, and the quick compiler: tests start many servers and use each one briefly."""
LARGEST = "4mb"
"""Of one request; larger ones are error 413."""


@dataclass
class Server:
    """A running server and how to speak with it."""

    url: str
    ca: Path | None = None
    password: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    urls: Sequence[str] = ()
    folder: Path = Path()

    def location(self, index: str) -> str:
        return f"elasticsearch:{self.url}/{index}"

    def environment(self, **changed: str) -> dict[str, str]:
        """What a process needs in its environment to be let in."""
        own = {"TOUCHE_RAD_ES_USER": "elastic", "TOUCHE_RAD_ES_PASSWORD": self.password}
        ca = {"TOUCHE_RAD_ES_CA": str(self.ca)} if self.ca else {}
        return {**(own if self.password else {}), **ca, **changed}

    def kill(self, node: int) -> None:
        """Kill a node at once."""
        process = self.processes[node]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin:
            process.stdin.close()


def address() -> str:
    """Return the URL of a running server, where that is what TOUCHE_RAD_ELASTICSEARCH names."""
    named = os.environ.get(NAMED, "")
    return named.rstrip("/") if named.startswith(("http://", "https://")) else ""


@contextmanager
def distribution() -> Iterator[Path]:
    """Give the distribution that TOUCHE_RAD_ELASTICSEARCH names, unpacked, in a folder of its own."""
    named = os.environ.get(NAMED, "")
    if address():
        unavailable(f"Elasticsearch to start with security or as a cluster: {NAMED} names a server")
    if not named or not Path(named).exists():
        unavailable(
            f"Elasticsearch: set {NAMED} to a distribution 8.x (zip or folder), which needs Java "
            "17, or to the URL of a running server without security"
        )
    if shutil.which("java") is None:
        unavailable("Java 17 for Elasticsearch: apt-get install openjdk-17-jre-headless")
    # Not below pytest's own folder: the server runs as another user, who may not look there.
    with tempfile.TemporaryDirectory(prefix="touche-rad-es-") as kept:
        folder = Path(kept)
        folder.chmod(0o755)
        if Path(named).is_dir():
            yield Path(named)
            return
        with zipfile.ZipFile(named) as packed:
            packed.extractall(folder)
        (home,) = (one for one in folder.iterdir() if one.is_dir())
        for program in (home / "bin").iterdir():
            program.chmod(0o755)
        yield home


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses, of those that no system gives away while a server starts."""
    free: list[int] = []
    for port in random.sample(range(20_000, 32_000), 1000):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            free.append(port)
        if len(free) == count:
            return free
    raise RuntimeError("no port is free on this machine")


@contextmanager
def running(home: Path, *, nodes: int = 1, secured: bool = False) -> Iterator[Server]:
    """Start a server or a cluster, with TLS and users if it is secured; kill it in the end."""
    with tempfile.TemporaryDirectory(prefix="touche-rad-es-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        http, transport = free_ports(nodes), free_ports(nodes)
        scheme = "https" if secured else "http"
        urls = [f"{scheme}://127.0.0.1:{port}" for port in http]
        server = Server(urls[0], password=PASSWORD if secured else "", urls=urls, folder=folder)
        if secured:
            certificates(folder)
            server.ca = folder / "ca.crt"
        try:
            for node in range(nodes):
                place = folder / str(node)
                _configure(home, place, node, http, transport, secured=secured)
                server.processes.append(_start(home, place, secured=secured))
            for url in urls:
                _await(url, server, folder, nodes)
            yield server
        finally:
            for node in range(len(server.processes)):
                server.kill(node)


def _configure(
    home: Path,
    place: Path,
    node: int,
    http: Sequence[int],
    transport: Sequence[int],
    *,
    secured: bool,
) -> None:
    shutil.copytree(home / "config", place / "config")
    for name in ("data", "logs", "tmp"):
        (place / name).mkdir()
    told = {
        "node.name": f"node-{node}",
        "cluster.name": place.parent.name,
        "network.host": "127.0.0.1",
        "http.port": http[node],
        "transport.port": transport[node],
        "path.data": place / "data",
        "path.logs": place / "logs",
        "xpack.security.enabled": str(secured).lower(),
        "cluster.routing.allocation.disk.threshold_enabled": "false",
        "http.max_content_length": LARGEST,
    }
    if len(http) == 1:
        told["discovery.type"] = "single-node"
    else:
        told["discovery.seed_hosts"] = json.dumps([f"127.0.0.1:{port}" for port in transport])
        told["cluster.initial_master_nodes"] = json.dumps(
            [f"node-{one}" for one in range(len(http))]
        )
    if secured:
        for name in ("ca.crt", "server.crt", "server.key"):
            shutil.copy(place.parent / name, place / "config" / name)
        (place / "config/roles.yml").write_text(ROLES)
        for layer in ("http", "transport"):
            told |= {
                f"xpack.security.{layer}.ssl.enabled": "true",
                f"xpack.security.{layer}.ssl.key": "server.key",
                f"xpack.security.{layer}.ssl.certificate": "server.crt",
                f"xpack.security.{layer}.ssl.certificate_authorities": "ca.crt",
            }
    lines = "".join(f"{key}: {value}\n" for key, value in told.items())
    (place / "config/elasticsearch.yml").write_text(lines)
    machine = place / "config/jvm.options"
    # Its own logs go where the server may write, not below the distribution.
    machine.write_text(machine.read_text().replace("=logs/", f"={place}/logs/"))
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", str(NOBODY), place], check=True)


def _environment(place: Path) -> dict[str, str]:
    java = Path(os.path.realpath(shutil.which("java") or "java")).parent.parent
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "ES_PATH_CONF": str(place / "config"),
        "ES_JAVA_HOME": str(java),
        "ES_JAVA_OPTS": JAVA,
        "ES_TMPDIR": str(place / "tmp"),
    }


def _start(home: Path, place: Path, *, secured: bool) -> subprocess.Popen[bytes]:
    own: dict[str, Any] = {"env": _environment(place)}
    if os.getuid() == 0:
        own |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    if secured:
        _add_users(home, place, own)
    with (place / "logs/out").open("wb") as out:
        return subprocess.Popen(
            ["/bin/sh", "-c", WITH_ITS_STARTER, str(home / "bin/elasticsearch")],
            stdout=out,
            stderr=out,
            stdin=subprocess.PIPE,
            start_new_session=True,
            **own,
        )


def _add_users(home: Path, place: Path, own: dict[str, Any]) -> None:
    """Give a node its passwords; the further nodes of a cluster take the first one's files."""
    made = ("elasticsearch.keystore", "users", "users_roles")
    first = place.parent / "0/config"
    if place != first.parent:
        for name in made:
            shutil.copy(first / name, place / "config" / name)
            if os.getuid() == 0:
                shutil.chown(place / "config" / name, NOBODY, NOBODY)
        return
    keystore, users = home / "bin/elasticsearch-keystore", home / "bin/elasticsearch-users"
    commands: Sequence[tuple[Sequence[str | Path], bytes]] = (
        ([keystore, "create"], b""),
        ([keystore, "add", "--stdin", "bootstrap.password"], PASSWORD.encode()),
        ([users, "useradd", READER, "-p", READER_PASSWORD, "-r", "reader"], b""),
        ([users, "useradd", LOADER, "-p", LOADER_PASSWORD, "-r", "loader"], b""),
    )
    for words, said in commands:
        subprocess.run(words, input=said, check=True, capture_output=True, **own)


def _await(url: str, server: Server, folder: Path, nodes: int) -> None:
    context = ssl.create_default_context(cafile=str(server.ca)) if server.ca else None
    manager = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    manager.add_password(None, url, "elastic", server.password)
    opener = urllib.request.build_opener(
        urllib.request.HTTPBasicAuthHandler(manager), urllib.request.HTTPSHandler(context=context)
    )
    end = time.monotonic() + READY
    while time.monotonic() < end:
        if any(process.poll() is not None for process in server.processes):
            break
        try:
            with opener.open(f"{url}/_cluster/health", timeout=5) as answer:
                health = json.loads(answer.read())
            if health["status"] == "green" and health["number_of_nodes"] == nodes:
                return
        except (OSError, urllib.error.URLError):
            pass
        time.sleep(0.5)
    logs = "\n".join(one.read_text("utf-8", "replace")[-3000:] for one in folder.glob("*/logs/out"))
    raise RuntimeError(f"Elasticsearch did not get ready:\n{logs}")


def asked(server: Server, path: str, body: Any = None, method: str = "GET") -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{server.url}/{path}", data, {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from None


_REQUEST = "req -x509 -newkey rsa:2048 -nodes -days 2"
_COMMANDS = (
    f"{_REQUEST} -subj /CN=CA -keyout ca.key -out ca.crt",
    f"{_REQUEST} -subj /CN=test -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    " -addext basicConstraints=critical,CA:FALSE"
    " -CA ca.crt -CAkey ca.key -keyout server.key -out server.crt",
)


def certificates(folder: Path) -> None:
    """Make a CA and a server's certificate by it: ca.crt, server.crt, server.key."""
    for words in _COMMANDS:
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
