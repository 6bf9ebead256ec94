"""Who is let in, and what is said to who is not; what is asked again or at once; no secrets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from retrieval.elastic._connection import parse_location
from tests.demo import ARGUMENTS as DEMO
from tests.retrieval.elastic.servers import (
    LOADER,
    LOADER_PASSWORD,
    PASSWORD,
    READER,
    READER_PASSWORD,
    Server,
    certificates,
)
from tests.terminal import Ended, touche_rad
from touche_rad.errors import UserError

pytestmark = pytest.mark.services


def _run(*words: str, **environment: str) -> Ended:
    ran = touche_rad(*words, env=environment, code=None)
    for secret in (PASSWORD, READER_PASSWORD, LOADER_PASSWORD, "no pass-word of anybody"):
        assert secret not in ran.out + ran.err
    return ran


def _searched(location: str, **environment: str) -> Ended:
    Path("queries.tsv").write_text("q1\tZoos are cruel\n")
    words = ("retrieve", "queries.tsv", "-r", "attack", "-o", "out.run", "--replace")
    return _run(*words, "-i", location, **environment)


def _loaded(location: str, **environment: str) -> Ended:
    return _run("index", str(DEMO), "--to", location, **environment)


def _brought(location: str, **environment: str) -> Ended:
    return _run("index", location, "-o", "brought", **environment)


def _one_line(ran: Ended, told: str, code: int = 2) -> None:
    assert ran.code == code, ran.err
    assert told in ran.err
    lines = [one for one in ran.err.splitlines() if "; trying again" not in one]
    lines = [one for one in lines if not one.startswith("indexing: ")]
    assert len(lines) == 1, ran.err


def _all_told(secured: Server, told: str, **environment: str) -> None:
    """Each verb that asks a server says it in one line: searching, loading, bringing."""
    location = secured.location("demo")
    for ran in (
        _searched(location, **environment),
        _loaded(secured.location("never"), **environment),
        _brought(location, **environment),
    ):
        _one_line(ran, told)
    assert not Path("out.run").exists()
    assert not Path("brought").exists()


@pytest.fixture(scope="module")
def loaded(secured: Server) -> str:
    location = secured.location("demo")
    ran = _loaded(location, **secured.environment())
    assert ran.code == 0, ran.err
    return location


def test_who_has_the_password_and_the_ca_is_let_in(secured: Server, loaded: str) -> None:
    ran = _searched(loaded, **secured.environment())
    assert ran.code == 0, ran.err
    assert len(Path("out.run").read_text().splitlines()) > 5


def test_a_wrong_password_is_told(secured: Server) -> None:
    told = "wrong user, password or key (TOUCHE_RAD_ES_USER"
    wrong = {"TOUCHE_RAD_ES_PASSWORD": "no pass-word of anybody"}
    _all_told(secured, told, **secured.environment(**wrong))
    _one_line(_searched(secured.location("demo"), TOUCHE_RAD_ES_CA=str(secured.ca)), told)


def test_who_may_only_read_searches_and_brings_and_cannot_load(
    secured: Server, loaded: str
) -> None:
    reader = secured.environment(TOUCHE_RAD_ES_USER=READER, TOUCHE_RAD_ES_PASSWORD=READER_PASSWORD)
    for ran in (_searched(loaded, **reader), _brought(loaded, **reader)):
        assert ran.code == 0, ran.err
    assert len(Path("brought/arguments.jsonl").read_text().splitlines()) == 1443
    for other in ("never", "demo-of-mine"):
        _one_line(_loaded(secured.location(other), **reader), "reader has no permission to do this")
    _one_line(
        _searched(secured.location("never"), **reader),
        "reader has no permission to do this",
    )


def test_who_may_not_merge_segments_loads_with_one_warning(secured: Server) -> None:
    loader = secured.environment(TOUCHE_RAD_ES_USER=LOADER, TOUCHE_RAD_ES_PASSWORD=LOADER_PASSWORD)
    location = secured.location("unmerged")
    ran = _loaded(location, **loader)
    assert ran.code == 0, ran.err
    assert ran.err.count("(index privilege maintenance): the index is complete") == 1, ran.err
    ran = _searched(location, **loader)
    assert ran.code == 0, ran.err


def test_an_unknown_ca_is_told(secured: Server) -> None:
    certificates(Path())
    other = secured.environment(TOUCHE_RAD_ES_CA="ca.crt")
    told = "certificate verify failed"
    _all_told(secured, told, **other)
    none = {key: value for key, value in other.items() if key != "TOUCHE_RAD_ES_CA"}
    _one_line(_searched(secured.location("demo"), **none), told)
    missing = secured.environment(TOUCHE_RAD_ES_CA="nowhere")
    _all_told(secured, "TOUCHE_RAD_ES_CA=", **missing)


def test_a_server_that_cannot_be_used_is_told(server: Server) -> None:
    https = server.location("demo").replace("http:", "https:")
    _one_line(_searched(https), "no secure connection")
    _one_line(_searched(server.location("nowhere")), "there is no index 'nowhere'")
    nowhere = "elasticsearch:http://127.0.0.1:9/demo"
    ran = _searched(nowhere, TOUCHE_RAD_ES_TIMEOUT="1")
    _one_line(ran, "the server cannot be reached", code=1)


@pytest.mark.parametrize(
    "location",
    [
        "elasticsearch:http://user:secret@127.0.0.1:9200/demo",
        "elasticsearch:127.0.0.1/demo",
        "elasticsearch:http://127.0.0.1:9200",
        "elasticsearch:http://127.0.0.1:99999/x",
        "elasticsearch:ftp://127.0.0.1/x",
        "elasticsearch:http://127.0.0.1/x?y=z",
        "elasticsearch:http://127.0.0.1/x,y",
        "elasticsearch:http://user:secret@127.0.0.1,http://127.0.0.1/x",
        "elasticsearch:http://127.0.0.1:9200,/x",
    ],
)
def test_places_that_cannot_be_are_refused(location: str) -> None:
    with pytest.raises(UserError) as told:
        parse_location(location)
    assert "secret" not in str(told.value)


class _Recorder(ThreadingHTTPServer):
    """Answers as the server would for an index with one argument, and keeps what it was sent."""

    request_queue_size = 64

    daemon_threads = True

    def __init__(self, product: str = "Elasticsearch") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.product = product
        self.asked: list[tuple[str, dict[str, str], float]] = []
        self.faults: list[int] = []
        self.flood: tuple[bytes, float] | None = None
        """Bytes that are sent again and again instead of an answer, and the seconds between."""
        self.together: threading.Barrier | None = None


class _Handler(BaseHTTPRequestHandler):
    server: _Recorder

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.path, dict(self.headers), time.monotonic()))
        if self.server.flood:
            data, pause = self.server.flood
            with suppress(OSError):
                for _ in range(300):
                    self.wfile.write(data)
                    time.sleep(pause)
            self.close_connection = True
            return
        if self.server.faults:
            status = self.server.faults.pop(0)
            about = {"reason": "busy"}
            body: Any = {"error": {"reason": "one", "root_cause": [about]}, "status": status}
        elif self.path.startswith("/_msearch"):
            if self.server.together is not None:
                self.server.together.wait(30)
            source = {"id": "1", "text": "One.", "attacks": "Two.", "supports": "Three."}
            hit = {"_id": "1", "_score": 1.0, "_source": source}
            status, body = 200, {"responses": [{"status": 200, "hits": {"hits": [hit]}}]}
        else:
            status = 200
            body = {"demo": {"mappings": {"properties": {}}, "settings": {"index": {"uuid": "u"}}}}
            if "_count" in self.path:
                body = {"count": 1}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Elastic-Product", self.server.product)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_HEAD = _answer

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def recorder() -> Iterator[_Recorder]:
    with _Recorder() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def _recorded(recorder: _Recorder) -> str:
    return f"elasticsearch:http://127.0.0.1:{recorder.server_port}/demo"


def test_an_api_key_is_sent_and_said_to_nobody(recorder: _Recorder) -> None:
    ran = _searched(_recorded(recorder), TOUCHE_RAD_ES_API_KEY="a2V5OnNlY3JldA==")
    assert ran.code == 0, ran.err
    headers = {key.lower(): value for key, value in recorder.asked[-1][1].items()}
    assert headers["authorization"] == "ApiKey a2V5OnNlY3JldA=="
    assert "a2V5" not in ran.out + ran.err + Path("out.run").read_text()


def test_a_busy_server_is_asked_again_later(recorder: _Recorder) -> None:
    recorder.faults = [503, 429, 502]
    assert _searched(_recorded(recorder)).code == 0
    times = [at for _, _, at in recorder.asked[:4]]
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits[0] > 0.04
    assert waits[2] > 0.15
    recorder.faults = [503] * 1000
    ran = _searched(_recorded(recorder), TOUCHE_RAD_ES_TIMEOUT="1")
    _one_line(ran, "(red): see _cluster/health", code=1)


@pytest.mark.parametrize(
    ("data", "pause", "told"),
    [
        (b"H", 0.2, "no answer in time (set TOUCHE_RAD_ES_TIMEOUT)"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 2**20, 0, "the answer is larger than 268435456 bytes"),
    ],
)
def test_an_answer_without_an_end_ends(
    recorder: _Recorder, data: bytes, pause: float, told: str
) -> None:
    recorder.flood = (data, pause)
    begun = time.monotonic()
    ran = _searched(_recorded(recorder), TOUCHE_RAD_ES_TIMEOUT="2" if pause else "30")
    _one_line(ran, told, code=1)
    assert time.monotonic() - begun < 20, "the first one is sent for 60 s"


_HEAD = (
    b"HTTP/1.1 200 OK\r\nX-Elastic-Product: Elasticsearch\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%b"
)


@pytest.mark.parametrize(
    ("text", "times"),
    [('{"a": NaN}', 1), ('{"a": 1, "a": 2}', 1), ("1e999", 1), ("[", 100_000), ("9", 5_000)],
)
def test_only_strict_json_is_read(recorder: _Recorder, text: str, times: int) -> None:
    body = text.encode() * times
    recorder.flood = (_HEAD % (len(body), body), 0)
    _one_line(_searched(_recorded(recorder)), "deserialize as JSON", code=1)
