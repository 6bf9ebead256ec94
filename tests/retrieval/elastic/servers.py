"""Real Elasticsearch servers on loopback: one open, one with TLS and users, a cluster of three."""

from __future__ import annotations

import json
import os
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
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import lacking

NOBODY = 65534
PASSWORD = "a long pass-word of tests"
READY = 180.0
HEAP = "-Xms512m -Xmx512m"


@dataclass
class Server:
    """A running server and how to speak with it."""

    url: str
    ca: Path | None = None
    password: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    urls: Sequence[str] = ()

    def location(self, index: str) -> str:
        return f"elasticsearch:{self.url}/{index}"

    def environment(self, **changed: str) -> dict[str, str]:
        """What a process needs in its environment to be let in."""
        own = {"TOUCHE_RAD_ES_USER": "elastic", "TOUCHE_RAD_ES_PASSWORD": self.password}
        ca = {"TOUCHE_RAD_ES_CA": str(self.ca)} if self.ca else {}
        return {**(own if self.password else {}), **ca, **changed}

    def kill(self, node: int) -> None:
        """Kill a node at once."""
        os.killpg(self.processes[node].pid, signal.SIGKILL)
        self.processes[node].wait()


@contextmanager
def distribution() -> Iterator[Path]:
    """Give the distribution that TOUCHE_RAD_ELASTICSEARCH names, unpacked, in a folder of its own."""
    named = os.environ.get("TOUCHE_RAD_ELASTICSEARCH", "")
    if not named or not Path(named).exists():
        lacking(
            "Elasticsearch: set TOUCHE_RAD_ELASTICSEARCH to a distribution 8.x (zip or folder); "
            "it needs Java 17"
        )
    if shutil.which("java") is None:
        lacking("Java 17 for Elasticsearch: apt-get install openjdk-17-jre-headless")
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
    """Return ports that nobody uses."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def certificates(folder: Path, *, days: int = 2) -> None:
    """Make a CA and a certificate for loopback by it: ca.crt, server.crt, server.key."""
    if not (folder / "ca.crt").exists():
        _openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key",
                 "-out", "ca.crt", "-days", "2", "-subj", "/CN=CA of a test")  # fmt: skip
    _openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key",
             "-out", "server.csr", "-subj", "/CN=localhost")  # fmt: skip
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    _openssl(folder, "x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
             "-CAcreateserial", "-days", str(days), "-extfile", "names", "-out", "server.crt")  # fmt: skip


@contextmanager
def running(home: Path, *, nodes: int = 1, secured: bool = False) -> Iterator[Server]:
    """Start a server or a cluster, and kill it in the end."""
    with tempfile.TemporaryDirectory(prefix="touche-rad-es-") as kept:
        folder = Path(kept)
        folder.chmod(0o755)
        http, transport = free_ports(nodes), free_ports(nodes)
        scheme = "https" if secured else "http"
        urls = [f"{scheme}://127.0.0.1:{port}" for port in http]
        server = Server(urls[0], password=PASSWORD if secured else "", urls=urls)
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
            for process in server.processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


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
        "node.name": f"node-{node}", "cluster.name": place.parent.name, "network.host": "127.0.0.1",
        "http.port": http[node], "transport.port": transport[node],
        "path.data": place / "data", "path.logs": place / "logs",
        "xpack.security.enabled": str(secured).lower(),
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }  # fmt: skip
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
        "PATH": os.environ["PATH"], "HOME": str(place), "ES_PATH_CONF": str(place / "config"),
        "ES_JAVA_HOME": str(java), "ES_JAVA_OPTS": HEAP, "ES_TMPDIR": str(place / "tmp"),
    }  # fmt: skip


def _start(home: Path, place: Path, *, secured: bool) -> subprocess.Popen[bytes]:
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    if secured:
        keystore = str(home / "bin/elasticsearch-keystore")
        for words, said in (
            (["create"], b""), (["add", "--stdin", "bootstrap.password"], PASSWORD.encode())
        ):  # fmt: skip
            subprocess.run(
                [keystore, *words], input=said, env=_environment(place), check=True,
                capture_output=True, **user,
            )  # fmt: skip
    with (place / "logs/out").open("wb") as out:
        return subprocess.Popen(
            [str(home / "bin/elasticsearch")], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
            env=_environment(place), start_new_session=True, **user,
        )  # fmt: skip


def _await(url: str, server: Server, folder: Path, nodes: int) -> None:
    context = ssl.create_default_context(cafile=str(server.ca)) if server.ca else None
    manager = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    manager.add_password(None, url, "elastic", server.password)
    opener = urllib.request.build_opener(
        urllib.request.HTTPBasicAuthHandler(manager), urllib.request.HTTPSHandler(context=context)
    )
    end = time.monotonic() + READY
    while time.monotonic() < end:
        if all(process.poll() is not None for process in server.processes):
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
