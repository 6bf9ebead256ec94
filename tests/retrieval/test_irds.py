"""The collections as ir_datasets and PyTerrier datasets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ir_datasets
import pyterrier as pt
import pytest

from retrieval import irds
from tests.retrieval.small import BEES
from touche_rad import files
from touche_rad.demo import demo_file

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def bees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(irds, "_named", [])
    path = tmp_path / "bees.jsonl"
    path.write_text("".join(files.argument_line(one) + "\n" for one in BEES))
    return path


def test_a_document_holds_the_whole_argument() -> None:
    first = next(files.read_arguments(demo_file("arguments.jsonl")))
    demo = ir_datasets.load("touche-rad/demo")
    doc = next(demo.docs_iter())
    assert doc == demo.docs_store().get(first.id)
    assert (doc.doc_id, doc.text, doc.attacks, doc.supports) == (
        first.id,
        first.text,
        first.attacks,
        first.supports,
    )
    assert (doc.topic, doc.tags, doc.references) == (first.topic, first.tags, first.references)
    assert doc.text in doc.default_text()
    assert doc.attacks not in doc.default_text()
    assert demo.docs_cls()._fields == (
        "doc_id",
        "text",
        "attacks",
        "supports",
        "topic",
        "tags",
        "references",
        "original",
    )


def test_documents_are_sliced(bees: Path) -> None:
    irds.register_claimrev(bees)
    docs = ir_datasets.load("touche-rad/claimrev").docs_iter()
    assert [doc.doc_id for doc in docs[1:3]] == ["2", "3"]
    assert [doc.doc_id for doc in docs[-2:]] == ["5", "6"]
    assert docs[3].doc_id == "4"
    assert [doc.doc_id for doc in docs] == [one.id for one in BEES]


@pytest.mark.parametrize(("kind", "field"), [("counter", "attacks"), ("support", "supports")])
def test_relevant_is_what_has_the_claim_in_its_field(bees: Path, kind: str, field: str) -> None:
    irds.register_claimrev(bees)
    made = ir_datasets.load(f"touche-rad/claimrev/{kind}")
    asked = {query.query_id: query.text for query in made.queries_iter()}
    assert list(asked.values()) == list(dict.fromkeys(getattr(one, field) for one in BEES))
    judged = {(asked[one.query_id], one.doc_id) for one in made.qrels_iter()}
    assert judged == {(getattr(one, field), one.id) for one in BEES}
    assert all(one.relevance == 1 for one in made.qrels_iter())


def test_another_file_may_be_named(bees: Path, tmp_path: Path) -> None:
    irds.register_claimrev(bees)
    assert ir_datasets.load("touche-rad/claimrev").docs_count() == len(BEES)
    fewer = tmp_path / "fewer.jsonl"
    fewer.write_text(files.argument_line(BEES[0]) + "\n")
    irds.register_claimrev(str(fewer))
    assert ir_datasets.load("touche-rad/claimrev").docs_count() == 1


def test_the_claims_for_debates_are_queries() -> None:
    demo = ir_datasets.load("touche-rad/demo/claims")
    claims = [(one.id, one.claim) for one in files.read_claims(demo_file("claims.tsv"))]
    assert [(query.query_id, query.text) for query in demo.queries_iter()] == claims
    assert not demo.has_qrels()


def test_qrels_of_a_collection_grade_attacks_above_support(bees: Path) -> None:
    irds.register_claimrev(bees)
    whole = ir_datasets.load("touche-rad/claimrev")
    asked = {query.query_id: query.text for query in whole.queries_iter()}
    assert len(set(asked.values())) == len(asked)
    judged = {(asked[one.query_id], one.doc_id): one.relevance for one in whole.qrels_iter()}
    expected = {(one.supports, one.id): 1 for one in BEES} | {
        (one.attacks, one.id): 2 for one in BEES
    }
    assert judged == expected


def test_pyterrier_has_topics_and_qrels_of_the_demo() -> None:
    demo = pt.get_dataset("irds:touche-rad/demo")
    topics, qrels = demo.get_topics(), demo.get_qrels()
    assert set(qrels["qid"]) == set(topics["qid"])
    assert set(qrels["label"]) == {1, 2}
    counter = pt.get_dataset("irds:touche-rad/demo/counter").get_qrels()
    assert sum(qrels["label"] == 2) == len(counter)


def test_pyterrier_registers_them_without_an_import_of_ours() -> None:
    code = "import pyterrier; print(len(pyterrier.get_dataset('irds:touche-rad/demo').get_qrels()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) == len(pt.get_dataset("touche-rad:demo").get_qrels())


def test_pyterrier_knows_them_by_its_provider() -> None:
    provider = irds.ArgumentDatasets()
    assert "demo/counter" in provider.list_dataset_names()
    dataset = provider.get_dataset("demo/support")
    assert set(dataset.get_qrels()["docno"]) <= {
        row["docno"] for row in dataset.get_corpus_iter(verbose=False)
    }
    assert [row["docno"] for row in dataset.get_corpus_iter(verbose=False, start=1, count=2)] == [
        "101.2",
        "101.3",
    ]
    with pytest.raises(KeyError):
        provider.get_dataset("nothing")
    assert len(pt.get_dataset("irds:touche-rad/demo/claims").get_topics()) == 10
