"""`--engine ray` searches a real cluster of Elasticsearch while one of its nodes is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.retrieval.elastic.servers import Server, running
from tests.terminal import touche_rad_process
from touche_rad.demo import demo_file

pytestmark = pytest.mark.services

COUNT = 200
TOPICS = ("cars in city centres", "school uniforms", "zoos", "a shorter working week", "meat")


@pytest.fixture
def nodes(elasticsearch_home: Path) -> Iterator[Server]:
    """Three nodes without security: two of them are a majority."""
    with running(elasticsearch_home, nodes=3) as made:
        yield made


def write_debates(path: Path) -> None:
    """Write debates with different queries."""
    with path.open("w") as stream:
        for number in range(COUNT):
            words = f"In case {number} I am against {TOPICS[number % len(TOPICS)]}."
            stream.write(json.dumps({"messages": [{"role": "user", "content": words}]}) + "\n")


def test_a_killed_node_loses_no_debate_and_changes_no_byte(nodes: Server, tmp_path: Path) -> None:
    write_debates(tmp_path / "debates.jsonl")
    location = f"elasticsearch:{','.join(nodes.urls)}/demo"
    spread = ("-O", "shards=3", "-O", "replicas=1", "-q")
    loaded = touche_rad_process(
        "index", demo_file("arguments.jsonl"), "--to", location, *spread, cwd=tmp_path
    )
    assert loaded.code == 0, loaded.err
    words = ("respond", "debates.jsonl", "-d", "verbatim", "-i", location)
    whole = touche_rad_process(*words, "-o", "plain.jsonl", "-q", cwd=tmp_path)
    assert whole.code == 0, whole.err
    on_ray = ("-o", "ray.jsonl", "--strict", "--engine", "ray", "--actors", "2", "--workers", "2")
    run = subprocess.Popen(
        [sys.executable, "-m", "touche_rad", *words, *on_ray],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal, kept = tmp_path / "ray.jsonl.part", 0
    while kept < COUNT // 10:
        assert run.poll() is None, run.stderr and run.stderr.read()
        kept = journal.read_bytes().count(b"\n") - 1 if journal.exists() else 0
        time.sleep(0.02)
    nodes.kill(0)  # the first address
    _, err = run.communicate(timeout=400)
    assert run.returncode == 0, err
    assert kept < COUNT  # the others searched after the kill
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "plain.jsonl").read_bytes()
    status = json.loads((tmp_path / "ray.jsonl.status.json").read_text())
    assert (status["done"], status["fallbacks"]) == (COUNT, [])
