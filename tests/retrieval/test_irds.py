"""The collections as ir_datasets and PyTerrier datasets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import ir_datasets
import pyterrier as pt
import pytest
from ir_datasets.datasets.base import Dataset
from ir_datasets.datasets.beir import BeirTitleDoc
from ir_datasets.formats import (
    ArgsMeDoc,
    ArgsMePremise,
    ArgsMeStance,
    BaseDocs,
    BaseQrels,
    BaseQueries,
    GenericQuery,
    TrecQrel,
)

from retrieval import irds
from retrieval._tasks import SPLITS, RetrievalTask, all_tasks, split_of, topics
from tests.cases import with_cases
from tests.demo import ARGUMENTS, CLAIMS
from tests.records import read_table, write_lines
from tests.refusals import expect_error
from tests.retrieval.small import BEES
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import open_index

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def bees(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "bees.jsonl"
    write_lines(path, map(files.argument_line, BEES))
    monkeypatch.setenv(irds.VARIABLE, path)


def test_a_document_holds_the_whole_argument() -> None:
    first = next(files.read_arguments(ARGUMENTS))
    demo = ir_datasets.load("touche-rad/demo")
    doc = next(demo.docs_iter())
    assert doc == demo.docs_store().get(first.id)
    fields = [name for name in demo.docs_cls()._fields if name not in ("doc_id", "original")]
    assert [getattr(doc, name) for name in fields] == [getattr(first, name) for name in fields]
    assert doc.doc_id == first.id
    assert (doc.original or None) == first.original
    assert doc.text in doc.default_text()
    assert doc.attacks not in doc.default_text()


@pytest.mark.usefixtures("bees")
@pytest.mark.parametrize(("kind", "field"), [("counter", "attacks"), ("support", "supports")])
def test_relevant_is_what_has_the_claim_in_its_field(kind: str, field: str) -> None:
    dataset = ir_datasets.load(f"touche-rad/claimrev/{kind}")
    queries = {query.query_id: query.text for query in dataset.queries_iter()}
    assert list(queries.values()) == list(dict.fromkeys(getattr(bee, field) for bee in BEES))
    judged = {
        (queries[qrel.query_id], qrel.doc_id, qrel.relevance) for qrel in dataset.qrels_iter()
    }
    assert judged == {(getattr(argument, field), argument.id, 1) for argument in BEES}


def test_the_claims_for_debates_are_queries() -> None:
    demo = ir_datasets.load("touche-rad/demo/claims")
    claims = [(claim.id, claim.claim) for claim in files.read_claims(CLAIMS)]
    assert [(query.query_id, query.text) for query in demo.queries_iter()] == claims
    assert not demo.has_qrels()


@pytest.mark.usefixtures("bees")
def test_qrels_of_a_collection_grade_attacks_above_support() -> None:
    dataset = ir_datasets.load("touche-rad/claimrev")
    queries = {query.query_id: query.text for query in dataset.queries_iter()}
    assert len(set(queries.values())) == len(queries)
    judged = {
        (queries[qrel.query_id], qrel.doc_id): qrel.relevance for qrel in dataset.qrels_iter()
    }
    supports = {(argument.supports, argument.id): 1 for argument in BEES}
    attacks = {(argument.attacks, argument.id): 2 for argument in BEES}
    assert judged == supports | attacks


def test_pyterrier_registers_them_without_an_import_of_ours() -> None:
    code = "import pyterrier; print(len(pyterrier.get_dataset('irds:touche-rad/demo').get_qrels()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    dataset = pt.get_dataset("irds:touche-rad/demo")
    assert int(done.stdout.split()[-1]) == len(dataset.get_qrels())
    documents = {row["docno"] for row in dataset.get_corpus_iter(verbose=False)}
    assert set(dataset.get_qrels()["docno"]) <= documents
    part = [row["docno"] for row in dataset.get_corpus_iter(verbose=False, start=1, count=2)]
    assert part == ["101.2", "101.3"]


def test_a_collection_without_its_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(irds.VARIABLE, raising=False)
    with expect_error("TOUCHE_RAD_CLAIMREV"):
        next(ir_datasets.load("touche-rad/claimrev").docs_iter())


FIELDS = ("id", "text", "attacks", "supports", "original")
FOUR = tuple(
    Argument.model_validate({"topic": "T", **dict(zip(FIELDS, row, strict=True))})
    for row in read_table("retrieval/four_arguments.tsv")
)


@pytest.fixture(scope="module")
def demo() -> list[Argument]:
    return list(files.read_arguments(ARGUMENTS))


def test_a_claim_that_is_an_arguments_text_is_named() -> None:
    itself = {topic.query: topic.itself for topic in topics(FOUR, RetrievalTask("counter"))}
    assert itself == {
        "Cats work.": ["4"],
        "Cats sleep.": ["1"],
        "Cats toil.": (),
        "Cats rest.": (),
    }


def test_chains_are_two_steps() -> None:
    # 3 supports 1's text, which attacks that cats work; 1 attacks 4's text, which says so.
    relevant = {topic.query: topic.relevant for topic in topics(FOUR, RetrievalTask("chain"))}
    assert relevant["Cats work."] == ["3"]
    assert "3" not in relevant.get("Cats toil.", ())


def test_splits_hold_whole_topics(demo: list[Argument]) -> None:
    for kind in ("counter", "support"):
        relevant: list[str] = []
        for split in SPLITS:
            ids = {argument.id for argument in demo if split_of(argument.topic) == split}
            for topic in topics(demo, RetrievalTask(kind, split=split)):
                assert ids.issuperset(topic.relevant)
                relevant += topic.relevant
        all_topics = topics(demo, RetrievalTask(kind))
        assert len(relevant) == sum(len(topic.relevant) for topic in all_topics)
    assert {split_of(argument.topic) for argument in demo} == set(SPLITS)


def test_each_task_is_an_ir_dataset() -> None:
    for task in all_tasks():
        dataset = ir_datasets.load(f"touche-rad/demo/{task.name}")
        judged = {qrel.query_id for qrel in dataset.qrels_iter()}
        assert judged == {query.query_id for query in dataset.queries_iter()}


def _argsme(name: str, stance: ArgsMeStance, text: str) -> ArgsMeDoc:
    nothing = dict.fromkeys(ArgsMeDoc._fields)
    fields = {
        "doc_id": name,
        "conclusion": "Zoos are good",
        "topic": "Zoos",
        "premises_texts": text,
    }
    return ArgsMeDoc(**{**nothing, **fields, "premises": [ArgsMePremise(text, stance, [])]})


class _Public(BaseDocs, BaseQueries, BaseQrels):
    """Arguments in the form of args.me, with queries and qrels."""

    def docs_iter(self) -> list[ArgsMeDoc]:
        return [
            _argsme("d1", ArgsMeStance.CON, "Captivity harms the animals of zoos."),
            _argsme("d2", ArgsMeStance.PRO, "Children learn about animals in zoos."),
            _argsme("d3", ArgsMeStance.PRO, "Bees make honey."),
        ]

    def docs_cls(self) -> type:
        return ArgsMeDoc

    def queries_iter(self) -> list[GenericQuery]:
        return [GenericQuery("q1", "Do zoos harm animals?"), GenericQuery("d3", "Bees make honey.")]

    def qrels_iter(self) -> list[TrecQrel]:
        return [TrecQrel("q1", "d1", 2, "0"), TrecQrel("d3", "d1", 1, "0")]


@pytest.fixture(scope="module")
def public() -> str:
    ir_datasets.registry.register("small-argsme/task", Dataset(_Public()))
    return "irds:small-argsme/task"


def test_a_public_collection_is_searched_and_scored(public: str) -> None:
    run = Path("text.run")
    words = ("retrieve", f"{public}/queries", "-i", public, "-r", "text", "-o", run)
    retrieved = touche_rad(*words, err="is built")
    assert f"score {run} {public}/qrels" in retrieved.err
    ranked = [(row.query, row.document) for row in files.read_run(run)]
    assert ranked == [("q1", "d1"), ("q1", "d2")]  # d3 is the query d3 itself
    assert "is built" not in touche_rad(*words, "--replace").err
    scored = touche_rad("score --json", run, f"{public}/qrels")
    values = {row["measure"]: row["value"] for row in scored.json["rows"]}
    assert values["RR"] == 0.5


def test_a_public_collection_is_copied_with_its_stances(public: str) -> None:
    touche_rad("index -o ix", public)
    for retriever, ids in (("attack", ["d1"]), ("support", ["d2", "d3"])):
        words = ("retrieve", "--say", "Zoos are good", "-r", retriever, "-i", "ix")
        (result,) = touche_rad(*words, "--json").json
        assert [hit["id"] for hit in result["hits"]] == ids


class _Titled(_Public):
    """Documents with a title."""

    def docs_iter(self) -> list[Any]:
        return [BeirTitleDoc("t1", "Captivity harms animals.", "Zoos")]


def test_documents_with_a_title_are_arguments_on_it() -> None:
    ir_datasets.registry.register("small-beir", Dataset(_Titled()))
    touche_rad("index irds:small-beir -o ix")
    (argument,) = open_index("ix").arguments()
    assert argument == Argument(id="t1", text="Captivity harms animals.", topic="Zoos")


def test_our_own_documents_are_the_same_arguments(demo: list[Argument]) -> None:
    touche_rad("index irds:touche-rad/demo -o ix")
    assert list(open_index("ix").arguments()) == demo


@with_cases(("args", "message"), "retrieval/wrong_names_of_irds.json")
@pytest.mark.usefixtures("public")
def test_what_ir_datasets_does_not_have_is_one_line(args: list[str], message: str) -> None:
    run = Path("a.run")
    run.write_text("q1 Q0 d1 1 1.0 tag\n")
    places = {"RUN": str(run), "DEMO": str(ARGUMENTS)}
    ended = touche_rad(*(places.get(word, word) for word in args), code=2)
    assert message in ended.error
