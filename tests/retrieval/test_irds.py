"""The collections as ir_datasets and PyTerrier datasets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ir_datasets
import pyterrier as pt
import pytest

from retrieval import irds
from retrieval._tasks import SPLITS, every, split_of, task, topics
from tests.retrieval.small import BEES
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.demo import demo_file
from touche_rad.errors import OptionError, UserError

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
    dataset = pt.get_dataset("irds:touche-rad/demo")
    assert int(done.stdout.split()[-1]) == len(dataset.get_qrels())
    documents = {row["docno"] for row in dataset.get_corpus_iter(verbose=False)}
    assert set(dataset.get_qrels()["docno"]) <= documents
    part = [row["docno"] for row in dataset.get_corpus_iter(verbose=False, start=1, count=2)]
    assert part == ["101.2", "101.3"]


def test_a_collection_without_its_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(irds.VARIABLE, raising=False)
    with pytest.raises(UserError, match="set TOUCHE_RAD_CLAIMREV to"):
        next(ir_datasets.load("touche-rad/claimrev").docs_iter())


FIELDS = ("id", "text", "attacks", "supports", "original")
FOUR = tuple(
    Argument.model_validate({"topic": "T", **dict(zip(FIELDS, row, strict=True))})
    for row in (
        ("1", "Cats sleep.", "Cats work.", "Cats rest.", "attacks"),
        ("2", "Cats hunt at night.", "Cats sleep.", "Cats are awake.", "attacks"),
        ("3", "Cats nap at noon.", "Cats toil.", "Cats sleep.", "supports"),
        ("4", "Cats work.", "Cats rest.", "Cats toil.", "attacks"),
    )
)


@pytest.fixture(scope="module")
def demo() -> list[Argument]:
    return list(files.read_arguments(demo_file("arguments.jsonl")))


def _found(name: str) -> dict[str, tuple[str, ...]]:
    return {one.query: one.relevant for one in topics(FOUR, task(name))}


def test_a_claim_that_is_an_arguments_text_is_named() -> None:
    itself = {one.query: one.itself for one in topics(FOUR, task("counter"))}
    assert itself == {
        "Cats work.": ("4",),
        "Cats sleep.": ("1",),
        "Cats toil.": (),
        "Cats rest.": (),
    }


def test_chains_are_two_steps() -> None:
    # 3 supports 1's text, which attacks that cats work; 1 attacks 4's text, which says so.
    assert _found("chain")["Cats work."] == ("3",)
    assert "Cats toil." not in _found("chain") or "3" not in _found("chain")["Cats toil."]


def test_splits_hold_whole_topics(demo: list[Argument]) -> None:
    for kind in ("counter", "support"):
        whole = {one.qid: one for one in topics(demo, task(kind))}
        parts = [topics(demo, task(f"{kind}/{split}")) for split in SPLITS]
        asked = [one.query for part in parts for one in part]
        assert {whole[one.qid].query for part in parts for one in part if one.qid in whole} <= set(
            asked
        )
        assert sum(len(one.relevant) for part in parts for one in part) == sum(
            len(one.relevant) for one in whole.values()
        )
    assert [split_of(name) for name in ("Zoos", "Zoos")] == [split_of("Zoos")] * 2
    assert {split_of(one.topic) for one in demo} == set(SPLITS)


def test_each_task_is_an_ir_dataset(demo: list[Argument]) -> None:
    for one in every():
        dataset = ir_datasets.load(f"touche-rad/demo/{one.name}")
        asked = {query.query_id for query in dataset.queries_iter()}
        judged = list(dataset.qrels_iter())
        assert {row.query_id for row in judged} == asked


@pytest.mark.parametrize("name", ["contra", "counter/orig/orig", "counter/test/orig", "chain/orig"])
def test_a_task_that_is_not_is_named(name: str) -> None:
    with pytest.raises(OptionError, match="there is no task"):
        task(name)
