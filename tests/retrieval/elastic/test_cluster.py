"""A cluster of three: a node dies in the middle, and nobody notices; two die, and it is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.retrieval.elastic.servers import Server, running
from touche_rad import files
from touche_rad.debate import Hit
from touche_rad.errors import ToucheRadError
from touche_rad.plugins import build_index, open_index

DEMO = Path(__file__).parent.parent.parent.parent / "touche_rad/demo/arguments.jsonl"


@pytest.fixture
def cluster(elasticsearch_home: Path) -> Iterator[Server]:
    with running(elasticsearch_home, nodes=3, secured=True, kept=lambda: None) as made:
        yield made


def _named(hits: list[Hit]) -> list[tuple[str, float]]:
    return [(hit.argument.id, hit.score) for hit in hits]


@pytest.mark.slow
def test_a_node_dies_in_the_middle(
    cluster: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for key, value in cluster.environment(TOUCHE_RAD_ES_TIMEOUT="60").items():
        monkeypatch.setenv(key, value)
    arguments = list(files.read_arguments(DEMO))
    # The first node is asked and lives; the last one dies.
    location = cluster.location("demo")
    build_index(arguments, location, options={"shards": "3", "replicas": "1"})
    index = open_index(location)
    queries = [one.attacks for one in arguments[:120]]
    before = [_named(index.search("text", query, 10)) for query in queries]
    assert all(before)
    failed: list[str] = []
    wrong: list[str] = []
    going = threading.Event()

    def search() -> None:
        for _ in range(4):
            for query, expected in zip(queries, before, strict=True):
                try:
                    found = _named(index.search("text", query, 10))
                except ToucheRadError as error:
                    failed.append(str(error))
                    continue
                if {one for one, _ in found} != {one for one, _ in expected} or len(found) != len(
                    expected
                ):
                    wrong.append(query)
            going.set()

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    going.wait()
    cluster.kill(2)
    for thread in threads:
        thread.join()
    assert failed == []
    assert wrong == []
    assert len(list(index.arguments())) == 435

    cluster.kill(1)
    monkeypatch.setenv("TOUCHE_RAD_ES_TIMEOUT", "5")
    out = tmp_path / "run.jsonl"
    words = ["respond", str(DEMO.with_name("debates.jsonl")), "--last-only", "-d", "grounded"]
    ran = subprocess.run(
        [sys.executable, "-m", "touche_rad", *words, "-i", location, "-o", str(out)],
        capture_output=True, text=True, env=dict(os.environ), timeout=300,
    )  # fmt: skip
    assert ran.returncode in (1, 2), ran.stderr
    assert "Traceback" not in ran.stderr
    assert any(word in ran.stderr for word in ("red", "cannot be reached", "no answer"))
    assert not out.exists() or all(
        json.loads(line)["content"] for line in out.read_text().splitlines()
    )
