"""An index on a real server: made, searched, brought back, and left as it was when it fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from retrieval.elastic._arguments import ElasticArguments
from retrieval.index.analyser import FIELDS
from retrieval.index.pisa import PisaArguments
from tests.demo import ARGUMENTS as DEMO
from tests.refusals import expect_error
from tests.retrieval.elastic.servers import Server, asked
from tests.retrieval.small import BEES, opened
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import Services, build_index, find, open_index

pytestmark = pytest.mark.services

CLAIMS = DEMO.with_name("claims.tsv")


@pytest.fixture(scope="module")
def demo(server: Server) -> ElasticArguments:
    place = server.location("demo")
    assert build_index(files.read_arguments(DEMO), place) == 1443
    index = open_index(place)
    assert isinstance(index, ElasticArguments)
    return index


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> PisaArguments:
    return opened(list(files.read_arguments(DEMO)), tmp_path_factory.mktemp("local") / "ix")


def test_every_argument_is_there_as_it_was(demo: ElasticArguments, local: PisaArguments) -> None:
    ours = list(local.arguments())
    assert list(demo.arguments()) == ours
    assert len(demo) == len(ours)
    assert demo.get(ours[7].id) == ours[7]
    assert demo.get("nobody") is demo.get("") is demo.get("\ud800") is demo.get("x" * 9999) is None
    assert demo.fingerprint == local.fingerprint


@pytest.mark.parametrize("field", FIELDS)
def test_both_homes_give_the_same(demo: ElasticArguments, local: PisaArguments, field: str) -> None:
    queries = [one.attacks for one in local.arguments()][:200]
    expected = local.search_all(field, queries, 10)
    results = demo.search_all(field, queries, 10)
    assert [len(hits) for hits in results] == [len(hits) for hits in expected]
    pairs = [(here, there) for here, there in zip(expected, results, strict=True) if here]
    first = [here[0].argument == there[0].argument for here, there in pairs]
    assert sum(first) >= 0.95 * len(pairs)
    shared = [
        len({hit.argument.id for hit in here}.intersection(hit.argument.id for hit in there))
        for here, there in pairs
    ]
    assert sum(shared) >= 0.93 * sum(map(len, expected))
    best = [here[0].score for here, _ in pairs]
    assert [there[0].score for _, there in pairs] == pytest.approx(best, rel=0.2)


QUERIES = {
    "empty": "",
    "no word that counts": "of the",
    "a lone surrogate": "\ud800",
    "a sign": "☃",
    "an unknown word": "zzz",
    "many words": "bees " * 10_000,
    "many unlike words": " ".join(f"w{n}" for n in range(50_000)),
    "a NUL": "a\0b",
    "one letter unbroken": "x" * 50_000,
    "words with commas unbroken": ",".join(f"w{n}" for n in range(10_000)),
    "signs": "☃" * 50_000,
    "ideographs unbroken": "".join(chr(0x4E00 + n % 20_000) for n in range(50_000)),
    "ideographs in words": " ".join(
        "".join(chr(0x4E00 + (n * 250 + m) % 20_000) for m in range(250)) for n in range(512)
    ),
    "letters and signs": " ".join("a²" * 125 for n in range(512)),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=list(QUERIES))
def test_any_query_is_searched(demo: ElasticArguments, query: str) -> None:
    for field in FIELDS:
        hits = demo.search(field, query, 3)
        assert [hit.rank for hit in hits] == list(range(len(hits)))


def test_equal_scores_stand_by_id_at_any_depth(location: str) -> None:
    twins = [Argument(id=f"{n}", text="The same words for each.") for n in range(40)]
    build_index(reversed(twins), location)
    index = open_index(location)
    for k in (1, 7, 39, 40):
        hits = index.search("text", "same words", k)
        assert [hit.argument.id for hit in hits] == sorted(one.id for one in twins)[:k]


def test_names_go_over_with_no_gap(server: Server, location: str) -> None:
    build_index(BEES, location)
    first = open_index(location)
    with expect_error("exists"):
        build_index(BEES[:3], location)
    assert build_index(BEES[:3], location, replace=True) == 3
    assert len(open_index(location)) == 3
    assert [hit.argument.id for hit in first.search("text", "bees", 9)]
    name = location.rpartition("/")[2]
    assert len(asked(server, f"{name}/_alias")) == 1
    assert build_index(BEES[:3], location, replace=True) == 3
    listed = asked(server, f"_cat/indices/{name}*?format=json")
    assert len(listed) == 1


def test_the_answers_do_not_depend_on_the_number_of_shards(
    server: Server, demo: ElasticArguments, location: str
) -> None:
    touche_rad("index -O shards=3 -O replicas=0", DEMO, "--to", location)
    (about,) = asked(server, location.rpartition("/")[2]).values()
    assert about["settings"]["index"]["number_of_shards"] == "3"
    parts = open_index(location)
    queries = [one.attacks for one in demo.arguments()][:50]
    here, there = (index.search_all("text", queries, 10) for index in (demo, parts))
    assert [[hit.argument for hit in hits] for hits in there] == [
        [hit.argument for hit in hits] for hits in here
    ]


def test_what_is_not_ours_is_not_replaced(server: Server, location: str) -> None:
    name = location.rpartition("/")[2]
    asked(server, name, {"mappings": {"properties": {"text": {"type": "text"}}}}, "PUT")
    with expect_error("not replaced"):
        build_index(BEES, location, replace=True)
    assert name in asked(server, name)


def _sent(server: Server, name: str) -> int:
    """How many documents an index was sent."""
    told = asked(server, f"{name}/_stats/indexing")["_all"]["total"]
    return int(told.get("indexing", {}).get("index_total", 0))


def test_a_killed_load_goes_on(server: Server, location: str) -> None:
    many = [json.dumps({"id": str(n), "text": f"Argument number {n}"}) for n in range(20_000)]
    Path("many.jsonl").write_text("\n".join(many))
    words = ("index", "many.jsonl", "--to", location)
    process = subprocess.Popen([sys.executable, "-m", "touche_rad", *words], stderr=subprocess.PIPE)
    name = location.rpartition("/")[2]
    while process.poll() is None and _sent(server, f"{name}-*") <= 2000:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with expect_error("there is no index"):
        open_index(location)
    before = _sent(server, f"{name}-*")
    touche_rad(*words)
    assert _sent(server, name) - before < 20_000 - 1_500
    index = open_index(location)
    assert len(index) == 20_000
    assert [one.id for one in index.arguments()] == [str(n) for n in range(20_000)]


def test_a_dump_gives_the_same_index_here(
    demo: ElasticArguments, local: PisaArguments, tmp_path: Path
) -> None:
    words = ("index", demo.location, "-o", "ix")
    touche_rad(*words)
    assert open_index("ix").fingerprint == local.fingerprint
    touche_rad(*words, code=2)  # it exists already
    assert [one.name for one in tmp_path.iterdir()] == ["ix"]


_VECTOR = {"type": "dense_vector", "dims": 4, "index": True, "similarity": "cosine"}
_CLAIMS = ("text", "attacks", "supports")
_TEXTS = (*_CLAIMS, "topic", "references", "tags", "original")
OFFICIAL = {
    "mappings": {
        "properties": {
            **{name: {"type": "text"} for name in _TEXTS},
            "id": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
            **{f"{name}_embedding_stella": _VECTOR for name in _CLAIMS},
        }
    }
}


@pytest.fixture(scope="module")
def official(server: Server) -> ElasticArguments:
    """An index in the official server's shape, made by hand."""
    name = "demo-official"
    asked(server, name, OFFICIAL, "PUT")
    for place, argument in enumerate(BEES):
        told = json.loads(files.argument_line(argument))
        vector = [float(place == 0), float(place == 1), 0.5, 0.1 * place]
        told |= {f"{field}_embedding_stella": vector for field in _CLAIMS}
        asked(server, f"{name}/_doc/{argument.id}", told, "PUT")
    asked(server, f"{name}/_refresh", method="POST")
    index = open_index(server.location(name))
    assert isinstance(index, ElasticArguments)
    return index


def test_the_official_index_is_searched_as_it_stands(official: ElasticArguments) -> None:
    import numpy as np

    assert [one.id for one in official.arguments()] == [one.id for one in BEES]
    assert official.get("3") == BEES[2]
    for field in FIELDS:
        assert official.search(field, "bees belong in town", 3)[0].argument in BEES[:5]
    assert official.search("attacks", "Night trains are slow", 3)[0].argument == BEES[5]
    assert list(official.encoders) == ["stella"]
    near = official.nearest("stella", "attacks", np.array([[1.0, 0, 0.5, 0]], dtype=np.float32), 2)
    assert near[0][0][0] == "1"
    assert near[0][0][1] == pytest.approx(1.0, abs=0.01)
    chained = find("retriever", "chain").make(Services(index=official))
    assert chained.search("Beehives on roofs starve the wild bees nearby.", 5)[0].argument.id == "3"


@pytest.mark.parametrize("query", QUERIES.values(), ids=list(QUERIES))
def test_any_query_is_searched_on_the_official_index(
    official: ElasticArguments, query: str
) -> None:
    for field in FIELDS:
        assert len(official.search(field, query, 3)) <= 3
    found = official.search("text", f"Night trains {query}", len(BEES))
    assert BEES[5] in [hit.argument for hit in found]


ODD = (
    *BEES,
    Argument(id="ü", text="Bees belong in town.", attacks="Bees have no place in town."),
    Argument(id="blank", text=" ", attacks="", supports=" "),
    Argument(id="again", text="Bees have no place in town!", supports="Bees belong in town"),
    Argument(id="Z", text="", attacks="Night trains save time."),
)


def _linked(location: str) -> Any:
    index = open_index(location)
    assert isinstance(index, ElasticArguments)
    return index


@pytest.mark.parametrize("parts", ["1", "3"])
def test_both_homes_link_the_same_arguments(location: str, parts: str) -> None:
    build_index(ODD, location, options={"shards": parts})
    there, here = _linked(location), opened(ODD, "ix")
    for argument in ODD:
        assert there.links(argument.id) == here.links(argument.id)
    assert there.links("2")
    query, near = "Beehives on roofs starve the wild bees nearby.", {"near": "0.7"}
    chains = [find("retriever", "chain").make(Services(index=one), near) for one in (there, here)]
    found = [{hit.argument.id for hit in one.search(query, 9)} for one in chains]
    assert found[0] == found[1] != set()
    for nobody in ("nobody", "", "?", "\udfff"):
        assert there.links(nobody) == here.links(nobody) == []
