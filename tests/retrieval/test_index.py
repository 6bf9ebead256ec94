"""The embedded index: what it finds, what it refuses, and that it stands whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ir_datasets
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ir_measures import nDCG

import retrieval.irds
from retrieval.index.pisa import PisaArguments
from retrieval.links import alike
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import OptionError, UserError
from touche_rad.plugins import Services, build_index, find, open_index

ARGUMENTS = (
    Argument(
        id="b",
        text="Cats sleep all day.",
        attacks="Cats are active pets.",
        supports="Cats are lazy pets.",
    ),
    Argument(
        id="a",
        text="Cats sleep all day.",
        attacks="Cats are active pets.",
        supports="Cats are lazy pets.",
    ),
    Argument(
        id="c",
        text="A cat hunts mice at night, when nobody sees it.",
        attacks="Cats sleep all day.",
        supports="Cats are awake at night.",
        topic="Pets",
    ),
    Argument(id="d", text="Dogs bark and bark.", attacks="Dogs are quiet."),
    Argument(
        id="é-1",
        text="Überall naïve Köter, e.g. the dog's “own” barking.",
        supports="Dogs are loud.",
    ),
    Argument(id="j", text="日本語 の 議論", attacks="日本語"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("small") / "index"
    assert build_index(ARGUMENTS, str(place)) == len(ARGUMENTS)
    return place


@pytest.fixture(scope="module")
def index(place: Path) -> PisaArguments:
    opened = open_index(str(place))
    assert isinstance(opened, PisaArguments)
    return opened


def _ids(index: PisaArguments, field: str, query: str, k: int = 10) -> list[str]:
    return [hit.argument.id for hit in index.search(field, query, k)]


def test_each_field_is_searched_by_itself(index: PisaArguments) -> None:
    assert _ids(index, "attacks", "cats that sleep") == ["c", "a", "b"]
    assert _ids(index, "supports", "loud dogs") == ["é-1"]
    assert set(_ids(index, "text", "cat")) == {"a", "b", "c"}
    assert _ids(index, "attacks", "barking") == []


def test_the_shorter_text_with_the_word_comes_first_and_ties_stand_by_id(
    index: PisaArguments,
) -> None:
    hits = index.search("text", "cats", 10)
    assert [hit.argument.id for hit in hits] == ["a", "b", "c"]
    assert hits[0].score == hits[1].score > hits[2].score
    assert [hit.rank for hit in hits] == [0, 1, 2]
    assert _ids(index, "text", "cats", 1) == ["a"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("CAT’S", {"a", "b", "c"}),
        ("uberall", {"é-1"}),
        ("naive", {"é-1"}),
        ("“barking”", {"d", "é-1"}),
        ("日本語", {"j"}),
        ("x'cats'", set()),
        ("", set()),
        ("the and of", set()),
        ("\ud800", set()),
        ("cats " * 20_000, {"a", "b", "c"}),
        ('AND (OR) NOT ~^*: "', set()),
    ],
)
def test_any_writing_is_searched(index: PisaArguments, query: str, found: set[str]) -> None:
    assert set(_ids(index, "text", query)) == found


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(query=st.text(st.characters()), field=st.sampled_from(["text", "attacks", "supports"]))
def test_no_query_fails_and_a_batch_finds_the_same(
    index: PisaArguments, query: str, field: str
) -> None:
    one = index.search(field, query, 3)
    assert index.search_all(field, [query, "cats", query], 3)[2] == one
    assert [hit.score for hit in one] == sorted((hit.score for hit in one), reverse=True)


def test_searches_keep_no_memory(index: PisaArguments) -> None:
    def searched(times: int) -> int:
        for number in range(times):
            index.search("text", f"children and school uniforms {number}", 3)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    before = searched(2_000)
    assert searched(6_000) - before < 300 * 6_000


@pytest.mark.long
def test_many_threads_and_processes_read_the_same(index: PisaArguments, place: Path) -> None:
    wanted = index.search("text", "cats and dogs bark", 5)
    with ThreadPoolExecutor(8) as pool:
        assert all(
            hits == wanted
            for hits in pool.map(
                lambda _: index.search("text", "cats and dogs bark", 5), range(200)
            )
        )
    code = (
        "import sys; from touche_rad.plugins import open_index; index = open_index(sys.argv[1]);"
        "print([hit.argument.id for _ in range(50) for hit in index.search('text', 'cats and dogs bark', 5)][-5:])"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, place], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = {process.communicate(timeout=60)[0] for process in running}
    assert len(printed) == 1
    assert str([hit.argument.id for hit in wanted][-4:])[1:] in printed.pop()


def test_arguments_are_read_by_id_and_in_order(index: PisaArguments) -> None:
    assert [one.id for one in index.arguments()] == [one.id for one in ARGUMENTS]
    assert all(index.get(one.id) == one for one in ARGUMENTS)
    assert [index.get(id_) for id_ in ("", "z", "a\0", "aa" * 99, "\ud800")] == [None] * 5
    assert len(index) == len(ARGUMENTS)
    with pytest.raises(OptionError, match="did you mean 'attacks'"):
        index.search("attack", "x", 1)


def test_an_index_keeps_no_uncompressed_postings(place: Path) -> None:
    """They are over half of the size, and only the build reads them."""
    there = {one.name for one in place.rglob("*") if one.is_file()}
    assert {"fwd.termlex", "fwd.doclex"} <= there
    assert not {"fwd", "inv.docs", "inv.freqs"} & there


def test_searching_writes_nothing(place: Path) -> None:
    def state() -> dict[str, float]:
        return {str(path): path.stat().st_mtime_ns for path in place.rglob("*")}

    before = state()
    opened = open_index(str(place))
    for field in ("text", "attacks", "supports"):
        opened.search(field, "cats", 2)
    assert state() == before


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda place: (place / "ids.npy").unlink(), "ids.npy is not complete"),
        (
            lambda place: (place / "arguments.jsonl").write_text("{}"),
            "arguments.jsonl is not complete",
        ),
        (lambda place: (place / "manifest.json").write_text("{"), "manifest.json cannot be read"),
        (lambda place: (place / "manifest.json").unlink(), "is not an index"),
        (lambda place: (place / "text" / "fwd.termlex").unlink(), "fwd.termlex is not complete"),
        (lambda place: _rewrite(place, format=9), "made by a newer touche-rad"),
        (lambda place: _rewrite(place, analyser="other"), "another version of touche-rad"),
    ],
)
def test_a_damaged_index_is_told_in_one_line(tmp_path: Path, harm: object, told: str) -> None:
    place = tmp_path / "index"
    build_index(ARGUMENTS, str(place))
    harm(place)  # type: ignore[operator]
    with pytest.raises(UserError, match=told) as error:
        open_index(str(place))
    assert "\n" not in str(error.value)


def test_a_copy_of_an_index_opens(tmp_path: Path) -> None:
    build_index(ARGUMENTS, str(tmp_path / "index"))
    shutil.copytree(tmp_path / "index", tmp_path / "copy", copy_function=shutil.copyfile)
    assert open_index(str(tmp_path / "copy")).search("text", "cats", 1)


def _rewrite(place: Path, **changed: object) -> None:
    manifest = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps(manifest | changed))


def test_what_cannot_be_built_leaves_nothing(tmp_path: Path) -> None:
    other = ARGUMENTS[0].model_copy(update={"text": "Something else."})

    def breaking() -> object:
        yield ARGUMENTS[0]
        raise RuntimeError("the source broke")

    for arguments, told in [
        ([], "contains no argument"),
        ([ARGUMENTS[0], other], "two different arguments have the id 'b'"),
        (breaking(), "the source broke"),
    ]:
        with pytest.raises((UserError, RuntimeError), match=told):
            build_index(arguments, str(tmp_path / "index"))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    assert build_index([ARGUMENTS[0], ARGUMENTS[0]], str(tmp_path / "index")) == 1


def test_an_index_is_replaced_only_when_told_and_nothing_else_ever(tmp_path: Path) -> None:
    place = tmp_path / "index"
    build_index(ARGUMENTS[:2], str(place))
    with pytest.raises(UserError, match="--replace"):
        build_index(ARGUMENTS, str(place))
    assert build_index(ARGUMENTS, str(place), replace=True) == len(ARGUMENTS)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").touch()
    with pytest.raises(UserError, match="is not an index"):
        build_index(ARGUMENTS, str(tmp_path / "photos"), replace=True)
    assert (tmp_path / "photos" / "one.jpg").exists()


def test_pipelines_compose_and_are_evaluated(index: PisaArguments) -> None:
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["cats sleep", "dogs"]})
    attacks, text = index.pipeline("attacks", 5), index.pipeline("text", 5)
    halved = pt.apply.doc_score(lambda row: row["score"] / 2)
    for pipeline in (attacks % 1, attacks + text, attacks | text, attacks >> (halved**halved)):
        assert {"qid", "docno"} <= set(pipeline.transform(topics).columns)
    qrels = pd.DataFrame({"qid": ["1"], "docno": ["c"], "label": [1]})
    table = pt.Experiment([attacks, text], topics, qrels, [nDCG @ 5], names=["attacks", "text"])
    assert table.set_index("name")["nDCG@5"].to_dict()["attacks"] == 1.0
    assert set(pt.inspect.transformer_outputs(attacks, ["qid", "query"])) >= {
        "docno",
        "score",
        "rank",
    }
    assert len(attacks.transform(topics.iloc[:0])) == 0


def _search(name: str, index: PisaArguments, query: str, **options: str) -> list[str]:
    made = find("retriever", name).make(Services(index=index), options)
    return [hit.argument.id for hit in made.search(query, 5)]


def test_a_chain_reaches_what_attacks_a_text_like_the_query(index: PisaArguments) -> None:
    made = find("retriever", "chain").make(Services(index=index))
    best = made.search("Cats just sleep", 5)[0]
    assert best.argument.id == "c"
    assert best.path == ("a says the same as you: Cats sleep all day.", "attacks that")
    assert _search("chain", index, "Cats just sleep", near="1") == ["c"]
    assert _search("chain", index, "whales", near="1") == []
    assert set(
        made.pipeline(3).transform(pd.DataFrame({"qid": ["1"], "query": ["cats"]})).columns
    ) >= {"path", "docno"}


def test_what_is_set_on_a_retriever_has_its_effect(index: PisaArguments) -> None:
    hybrid = find("retriever", "hybrid")
    scores = [
        {
            hit.argument.id: hit.score
            for hit in hybrid.make(Services(index=index), options).search("cats sleep", 5)
        }
        for options in ({}, {"chain": "0"}, {"topic": "0"}, {"k": "1"}, {"depth": "1"})
    ]
    assert len({json.dumps(one, sort_keys=True) for one in scores}) == len(scores)
    assert _search("chain", index, "cats sleep", first="1", second="1")
    assert alike("Cats sleep", "cats sleep all day") == pytest.approx(2 / 3)


def test_the_demo_collection_is_known_by_name() -> None:
    assert retrieval.irds.VARIABLE == "TOUCHE_RAD_CLAIMREV"
    demo = ir_datasets.load("touche-rad/demo")
    assert demo.docs_count() == sum(1 for _ in demo.docs_iter()) > 300
    assert demo.docs_store().get("104.3").topic.endswith("?")
    assert len(list(demo.queries_iter())) > 300
    assert len(list(ir_datasets.load("touche-rad/demo/claims").queries_iter())) == 10
    counter = pt.get_dataset("irds:touche-rad/demo/counter")
    topics, qrels = counter.get_topics(), counter.get_qrels()
    assert set(qrels["qid"]) == set(topics["qid"])
    assert len(qrels) == demo.docs_count()


def test_a_collection_of_ones_own_is_known_by_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(files.argument_line(one) + "\n" for one in ARGUMENTS))
    with pytest.raises(UserError, match="set TOUCHE_RAD_CLAIMREV to"):
        next(ir_datasets.load("touche-rad/claimrev").docs_iter())
    monkeypatch.setenv("TOUCHE_RAD_CLAIMREV", str(path))
    support = ir_datasets.load("touche-rad/claimrev/support")
    assert {row.query_id: row.doc_id for row in support.qrels_iter()} == {
        "support-b": "a",
        "support-c": "c",
        "support-é-1": "é-1",
    }


@pytest.mark.long
def test_the_real_sample_is_found_by_what_it_attacks(real_data: Path, tmp_path: Path) -> None:
    arguments = list(files.read_arguments(real_data / "claimrev-4441.jsonl.gz"))
    assert build_index(arguments, str(tmp_path / "index")) == 4441
    index = open_index(str(tmp_path / "index"))
    assert all(index.get(one.id) == one for one in arguments)
    claims = list(dict.fromkeys(one.attacks for one in arguments))
    hits = index.search_all("attacks", claims, 3)
    right = [
        any(hit.argument.attacks == claim for hit in found)
        for claim, found in zip(claims, hits, strict=True)
    ]
    assert sum(right) / len(right) > 0.95
