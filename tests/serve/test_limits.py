"""Who may ask the server, how much, how many at a time, and for how long."""

from __future__ import annotations

import asyncio
import base64
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.testclient import TestClient

from tests.records import write_records
from tests.serve.careless import Serve, end_server
from tests.serve.served import app_of
from tests.terminal import touche_rad
from touche_rad.debate import Debate, Maxim, Response, Verdict
from touche_rad.serve.limits import Access, Gate, Limits

TOKEN = "0123456789abcdef"
LOCAL = Access(loopback=True)
ASKED = {"messages": [{"role": "user", "content": "Zoos should be closed."}]}


class Plain:
    """A debater and a judge; the debater waits until it may answer."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.started = threading.Event()
        self.go_on.set()

    def answer(self, debate: Debate) -> Response:
        self.started.set()
        self.go_on.wait(30)
        return Response(content="No.")

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        return {maxim: Verdict(score=1.0) for maxim in Maxim}


def _client(plain: Plain | None = None, host: str = "localhost", **options: Any) -> TestClient:
    app = app_of(plain or Plain(), **options)
    return TestClient(app, base_url=f"http://{host}")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("", 401),
        (f"Bearer {TOKEN}x", 401),
        ("Bearer", 401),
        ("Basic !", 401),
        (TOKEN, 401),
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN}", 200),
        (f"Basic {base64.b64encode(f'me:{TOKEN}'.encode()).decode()}", 200),
    ],
)
def test_without_the_token_there_is_one_line_of_json(sent: str, status: int) -> None:
    client = _client(access=Access(TOKEN))
    headers = {"authorization": sent} if sent else {}
    for answered in (
        client.post("/", json=ASKED, headers=headers),
        client.get("/docs", headers=headers),
    ):
        assert answered.status_code == status
        assert TOKEN not in answered.text
        if status == 401:
            assert "`Authorization: Bearer TOKEN`" in answered.json()["detail"]
            assert answered.headers["www-authenticate"].startswith("Basic ")


def test_without_the_token_health_says_only_that_the_server_works() -> None:
    client = _client(access=Access(TOKEN))
    assert client.get("/health").json() == {"status": "ok"}
    assert client.post("/health").status_code == 401
    answered = client.get("/health", headers={"authorization": f"Bearer {TOKEN}"})
    assert answered.json()["debater"] == "debater"


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://localhost:3000"])
def test_web_pages_of_other_servers_are_refused(origin: str) -> None:
    client = _client()
    answered = client.post("/", json=ASKED, headers={"origin": origin})
    assert answered.status_code == 403
    assert "access-control-allow-origin" not in answered.headers
    assert client.post("/", json=ASKED, headers={"origin": "http://localhost"}).status_code == 200
    asks = {"origin": origin, "access-control-request-method": "POST"}
    assert client.options("/", headers=asks).status_code == 403


@pytest.mark.parametrize(
    ("host", "access", "status"),
    [
        ("evil.example", LOCAL, 403),
        ("localhost:8080", LOCAL, 200),
        ("127.0.0.1:8080 browser", LOCAL, 200),
        ("[::1]:8080 browser", LOCAL, 200),
        ("evil.example browser", Access(), 403),
        ("[localhost]evil.com", LOCAL, 403),
        ("localhost:x@evil.com", LOCAL, 403),
        ("[localhost]", LOCAL, 403),
        ("touche-rad:8080", Access(), 200),
        ("debate.example browser", Access(names=frozenset(["debate.example"])), 200),
    ],
)
def test_a_foreign_name_that_leads_here_is_refused(host: str, access: Access, status: int) -> None:
    name, _, browser = host.partition(" ")
    headers = {"host": name} | ({"sec-fetch-site": "same-origin"} if browser else {})
    assert _client(access=access).get("/health", headers=headers).status_code == status


def test_every_response_has_the_headers_of_a_closed_page() -> None:
    client = _client()
    for answered in (client.get("/docs"), client.post("/", json=ASKED), client.get("/missing")):
        assert answered.headers["x-content-type-options"] == "nosniff"
        assert answered.headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in answered.headers["content-security-policy"]


def test_above_the_bound_and_only_there_a_client_is_asked_to_come_back() -> None:
    plain = Plain()
    plain.go_on.clear()
    app = app_of(plain, limits=Limits(requests=2))

    async def ask() -> None:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            waiting = [asyncio.create_task(client.post("/", json=ASKED)) for _ in range(2)]
            await asyncio.to_thread(plain.started.wait, 10)
            refused = await client.post("/", json=ASKED)
            assert refused.status_code == 503
            assert refused.headers["retry-after"]
            assert "busy" in refused.json()["detail"]
            assert (await client.get("/health")).status_code == 200
            plain.go_on.set()
            assert [(await task).status_code for task in waiting] == [200, 200]
            assert (await client.post("/", json=ASKED)).status_code == 200

    asyncio.run(ask())


def _pass(gate: Gate, messages: list[dict[str, Any]]) -> list[int]:
    """Send a request in pieces; nothing follows the last one."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop(0)
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    anyio.run(gate, scope, receive, send)
    return statuses


async def _answered(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body"})


PIECE = {"type": "http.request", "body": b"x" * 2**18, "more_body": True}
END = {"type": "http.request", "body": b"x"}
SHORT = [b"17," * 2**18, b'"",' * 2**18, b'"abcdefgh",' * 2**16, b'"some-key-001":"",' * 2**16]
NUMBERS = {"type": "http.request", "body": b"17," * 2**17, "more_body": True}


@pytest.mark.parametrize(
    ("limits", "messages", "status"),
    [
        (Limits(body_seconds=0.05), [PIECE], [408]),
        (Limits(), [PIECE, END], [200]),
        (Limits(body=2**18), [PIECE, END], [413]),
        (Limits(body=2**18), [PIECE] * 17 + [END], [413]),
        (Limits(), [NUMBERS, END], [413]),
        (Limits(), [PIECE] * 5 + [NUMBERS, END], [200]),
        (Limits(), [PIECE, {"type": "http.disconnect"}], []),
    ],
)
def test_an_unfinished_body_is_given_up(
    limits: Limits, messages: list[dict[str, Any]], status: list[int]
) -> None:
    gate = Gate(_answered, limits, Access())
    assert _pass(gate, [*messages]) == status
    assert gate.requests == 0


@pytest.mark.parametrize(
    ("value", "is_read"),
    [
        ([-0.012345678901] * 100_000, True),
        ([17] * 800_000, False),
        ("longer than the limit " * 500_000, False),
        ([7] * 40_000, True),
    ],
    ids=["embeddings", "short values", "too large", "arguments"],
)
def test_a_body_that_is_too_large_gets_a_fallback_score_and_other_bodies_are_judged(
    value: Any, is_read: bool
) -> None:
    body = {"arguments": [{"id": "1.1", "text": "t", "vector": value}]}
    if value[0] == 7:
        body = {"arguments": value}
    turn = {"utterance": "u", "systemResponse": {"utterance": "s", "response": body}}
    question = {"simulation": {"userTurns": [turn]}, "userTurnIndex": 0}
    client = _client()
    scored = client.post("/quality", json=question)
    assert scored.status_code == 200
    assert scored.json()["score"] == 1.0
    assert ("fallback" in scored.json()) is not is_read
    assert client.get("/health").json()["verdict_fallbacks"] == int(not is_read)
    if not is_read:
        assert client.post("/", json={**ASKED, "vector": value}).status_code == 413


@pytest.mark.parametrize("part", SHORT)
def test_a_large_body_of_short_values_is_refused(part: bytes) -> None:
    assert _pass(Gate(_answered, Limits(), Access()), [{**END, "body": part}]) == [413]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--host", "0.0.0.0"], "TOUCHE_RAD_TOKEN"),
        (["--host", "0.0.0.0", "--token", "short"], "--token: expected 16 or more"),
        (["--host", "0.0.0.0", "--token", TOKEN, "--open"], "exclude each other"),
    ],
)
def test_other_machines_need_a_token_or_an_explicit_permission(
    words: list[str], problem: str
) -> None:
    ended = touche_rad("serve -i demo", *words, code=2)
    assert problem in " ".join(ended.err.split())
    assert "short" not in ended.err


def test_the_server_prints_addresses_that_can_be_opened(demo_index_path: Path) -> None:
    words = f"-m touche_rad serve -i {demo_index_path} --host 0.0.0.0 --open --port 0".split()
    with subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = next(line for line in server.stderr if line.startswith("serving at "))
        addresses = re.findall(r"http://\S+", line)
        codes = {httpx2.get(f"{url}/health").status_code for url in addresses}
        page = httpx2.get(addresses[-1]).text
        end_server(server)  # before anything is asserted: else a failure waits for it
    assert "0.0.0.0" not in line
    assert codes == {200}
    assert all(url in page for url in addresses[:-1])


def _half_sent(url: str) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    client.sendall(head + b"Content-Length: 100\r\n\r\n{")
    return client


@pytest.mark.long
def test_a_half_sent_body_does_not_hold_up_the_end_and_answers_are_finished(serve: Serve) -> None:
    server, url = serve("--grace", "5")
    with _half_sent(url), ThreadPoolExecutor(20) as pool:
        clients = [httpx2.Client(base_url=url, timeout=60) for _ in range(20)]
        for client in clients:  # the connections are open before the requests are sent
            client.get("/health")
        asked = [pool.submit(client.post, "/", json=ASKED) for client in clients]
        wait(asked, return_when=FIRST_COMPLETED)
        assert end_server(server) in (0, -signal.SIGTERM)
        answers = [future.exception() or future.result() for future in asked]
    bodies = [answer.json() for answer in answers if isinstance(answer, httpx2.Response)]
    assert len(bodies) > 10, answers
    assert all(body["content"] for body in bodies)


def test_large_bodies_at_once_leave_the_server_answering(serve: Serve) -> None:
    _, url = serve("-d", "verbatim")
    contents = [
        "x y. " * 700_000,
        [""] * 900_000,
        [10**9] * 300_000,
        {f"k{n}": True for n in range(250_000)},
    ]
    bodies = [{"messages": [{"role": "user", "content": text}]} for text in contents * 2]
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(httpx2.post, f"{url}/", json=body, timeout=120) for body in bodies]
        while not all(future.done() for future in asked):
            assert httpx2.get(f"{url}/health", timeout=60).status_code == 200
    assert {future.result().status_code for future in asked} <= {200, 408, 413}


def test_the_page_has_all_topics_the_largest_first_with_claims_that_stand_alone(
    serve: Serve,
) -> None:
    claims = ["This is a tax on cash.", "Cash is king.", "Buses are late."]
    rows = [
        {"id": claim, "text": claim, "topic": "Is cash old?", "attacks": claim} for claim in claims
    ]
    rows += [{**rows[0], "id": f"{n}", "topic": f"{n}", "attacks": ""} for n in range(90)]
    write_records("arguments.jsonl", *rows)
    touche_rad("index arguments.jsonl -o ix")
    page = httpx2.get(serve("-i", "ix")[1]).text
    assert '"topics":{"Is cash old?":["Cash is king."],"0":[]' in page
    assert '"89":[]' in page
