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
from touche_rad.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def bees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bees.jsonl"
    path.write_text("".join(files.argument_line(one) + "\n" for one in BEES))
    monkeypatch.setenv(irds.VARIABLE, str(path))


def test_a_document_holds_the_whole_argument() -> None:
    first = next(files.read_arguments(demo_file("arguments.jsonl")))
    demo = ir_datasets.load("touche-rad/demo")
    doc = next(demo.docs_iter())
    assert doc == demo.docs_store().get(first.id)
    fields = [name for name in demo.docs_cls()._fields if name not in ("doc_id", "original")]
    assert [getattr(doc, name) for name in fields] == [getattr(first, name) for name in fields]
    assert (doc.doc_id, doc.original or None) == (first.id, first.original)
    assert doc.text in doc.default_text()
    assert doc.attacks not in doc.default_text()


@pytest.mark.usefixtures("bees")
def test_documents_are_sliced() -> None:
    docs = ir_datasets.load("touche-rad/claimrev").docs_iter()
    assert [doc.doc_id for doc in docs[1:3]] == ["2", "3"]
    assert [doc.doc_id for doc in docs[-2:]] == ["5", "6"]
    assert docs[3].doc_id == "4"
    assert [doc.doc_id for doc in docs] == [one.id for one in BEES]


@pytest.mark.usefixtures("bees")
@pytest.mark.parametrize(("kind", "field"), [("counter", "attacks"), ("support", "supports")])
def test_relevant_is_what_has_the_claim_in_its_field(kind: str, field: str) -> None:
    made = ir_datasets.load(f"touche-rad/claimrev/{kind}")
    asked = {query.query_id: query.text for query in made.queries_iter()}
    assert list(asked.values()) == list(dict.fromkeys(getattr(one, field) for one in BEES))
    judged = {(asked[one.query_id], one.doc_id) for one in made.qrels_iter()}
    assert judged == {(getattr(one, field), one.id) for one in BEES}
    assert all(one.relevance == 1 for one in made.qrels_iter())


def test_the_claims_for_debates_are_queries() -> None:
    demo = ir_datasets.load("touche-rad/demo/claims")
    claims = [(one.id, one.claim) for one in files.read_claims(demo_file("claims.tsv"))]
    assert [(query.query_id, query.text) for query in demo.queries_iter()] == claims
    assert not demo.has_qrels()


@pytest.mark.usefixtures("bees")
def test_qrels_of_a_collection_grade_attacks_above_support() -> None:
    whole = ir_datasets.load("touche-rad/claimrev")
    asked = {query.query_id: query.text for query in whole.queries_iter()}
    assert len(set(asked.values())) == len(asked)
    judged = {(asked[one.query_id], one.doc_id): one.relevance for one in whole.qrels_iter()}
    expected = {(one.supports, one.id): 1 for one in BEES} | {
        (one.attacks, one.id): 2 for one in BEES
    }
    assert judged == expected


def test_pyterrier_registers_them_without_an_import_of_ours() -> None:
    code = "import pyterrier; print(len(pyterrier.get_dataset('irds:touche-rad/demo').get_qrels()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) == len(pt.get_dataset("touche-rad:demo").get_qrels())


def test_pyterrier_knows_them_by_its_provider() -> None:
    provider = irds.ArgumentDatasets()
    assert "demo/counter" in provider.list_dataset_names()
    dataset = provider.get_dataset("demo/support")
    documents = {row["docno"] for row in dataset.get_corpus_iter(verbose=False)}
    assert set(dataset.get_qrels()["docno"]) <= documents
    part = [row["docno"] for row in dataset.get_corpus_iter(verbose=False, start=1, count=2)]
    assert part == ["101.2", "101.3"]
    with pytest.raises(KeyError):
        provider.get_dataset("nothing")


def test_a_collection_without_its_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(irds.VARIABLE, raising=False)
    with pytest.raises(UserError, match="set TOUCHE_RAD_CLAIMREV to"):
        next(ir_datasets.load("touche-rad/claimrev").docs_iter())
