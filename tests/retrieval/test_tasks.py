"""Test collections made from a collection itself."""

from __future__ import annotations

from pathlib import Path

import ir_datasets
import pytest

import retrieval.irds
from retrieval.tasks import SPLITS, every, split_of, task, topics
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import OptionError

DEMO = Path(__file__).parent.parent.parent / "touche_rad/demo/arguments.jsonl"
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
    return list(files.read_arguments(DEMO))


def _found(name: str) -> dict[str, tuple[str, ...]]:
    return {one.query: one.relevant for one in topics(FOUR, task(name))}


def test_claims_and_who_is_for_and_against_them() -> None:
    assert _found("counter")["Cats work."] == ("1",)
    assert _found("support")["Cats sleep."] == ("3",)
    assert set(_found("counter/orig")) == {"Cats work.", "Cats sleep.", "Cats rest."}
    assert set(_found("support/orig")) == {"Cats sleep."}


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


def test_stances_are_the_claims_of_an_argument() -> None:
    assert _found("stance")["Cats sleep."] == ("1:attacks",)


def test_splits_hold_whole_topics(demo: list[Argument]) -> None:
    for kind in ("counter", "support", "stance"):
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
    assert retrieval.irds.VARIABLE
    for one in every():
        dataset = ir_datasets.load(f"touche-rad/demo/{one.name}")
        asked = {query.query_id for query in dataset.queries_iter()}
        judged = list(dataset.qrels_iter())
        assert {row.query_id for row in judged} == asked
    stance = ir_datasets.load("touche-rad/demo/stance")
    assert stance.docs_count() == len(list(stance.docs_iter())) == 2 * len(demo)
    held = {doc.doc_id for doc in stance.docs_iter()}
    assert {row.doc_id for row in stance.qrels_iter()} <= held


@pytest.mark.parametrize("name", ["contra", "counter/orig/orig", "counter/test/orig", "chain/orig"])
def test_a_task_that_is_not_is_named(name: str) -> None:
    with pytest.raises(OptionError, match="there is no task"):
        task(name)
