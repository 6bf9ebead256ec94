"""The searches as PyTerrier transformers."""

from __future__ import annotations

import unittest
from typing import Any

import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import RR, nDCG

from retrieval.index.pisa import PisaArguments
from tests.retrieval.small import BEES, opened
from touche_rad.plugins import Services, find

NAMES = ("text", "attack", "support", "chain", "hybrid")
TOPICS = pd.DataFrame(
    {
        "qid": ["q1", "q2", "q3"],
        "query": ["Beehives on roofs starve wild bees", "night trains", "of the"],
        "user": ["ann", "bob", "cy"],
    }
)
QRELS = pd.DataFrame({"qid": ["q1", "q2"], "docno": ["3", "6"], "label": [1, 1]})


@pytest.fixture(scope="module")
def bees(tmp_path_factory: pytest.TempPathFactory) -> PisaArguments:
    return opened(BEES, tmp_path_factory.mktemp("bees") / "index")


def _pipeline(name: str, index: PisaArguments) -> Any:
    return find("retriever", name).make(Services(index=index)).pipeline(5)


@pytest.fixture(params=NAMES)
def pipeline(request: pytest.FixtureRequest, bees: PisaArguments) -> Any:
    return _pipeline(request.param, bees)


def _rows(found: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(found[["qid", "docno", "score", "rank"]].itertuples(index=False, name=None))


def test_a_ranking_keeps_the_queries_columns(pipeline: Any) -> None:
    found = pipeline.transform(TOPICS)
    assert list(found.columns)[:6] == ["qid", "query", "user", "docno", "score", "rank"]
    assert set(found["qid"]) <= {"q1", "q2"}
    assert set(zip(found["qid"], found["user"], strict=True)) <= {("q1", "ann"), ("q2", "bob")}
    assert len(found)
    assert all(list(one["rank"]) == list(range(len(one))) for _, one in found.groupby("qid"))
    assert found["score"].dtype == float
    assert found["rank"].dtype == int


def test_nothing_asked_gives_the_same_columns(pipeline: Any) -> None:
    none = pipeline.transform(TOPICS.iloc[:0])
    assert len(none) == 0
    assert list(none.columns) == list(pipeline.transform(TOPICS).columns)


def test_scores_that_came_with_the_queries_are_replaced(pipeline: Any) -> None:
    former = TOPICS.assign(score=1.0, rank=0)
    assert _rows(pipeline.transform(former)) == _rows(pipeline.transform(TOPICS))
    with pytest.raises(Exception, match="docno"):
        pipeline.transform(TOPICS.assign(docno="x"))
    with pytest.raises(Exception, match="query"):
        pipeline.transform(pd.DataFrame({"qid": ["1"]}))


def test_repeated_queries_and_odd_row_numbers(pipeline: Any) -> None:
    odd = pd.concat([TOPICS.iloc[:1], TOPICS.iloc[:1].assign(qid="q9")]).set_index(pd.Index([7, 7]))
    found = pipeline.transform(odd)
    halves = [found[found["qid"] == qid]["docno"].tolist() for qid in ("q1", "q9")]
    assert halves[0] == halves[1] != []


def test_pipelines_compose(pipeline: Any, bees: PisaArguments) -> None:
    plain, other = pipeline.transform(TOPICS), _pipeline("text", bees)
    top = (pipeline % 1).transform(TOPICS)
    assert _rows(top) == _rows(plain[plain["rank"] < 1])
    doubled = (pipeline >> pt.apply.doc_score(lambda row: row["score"] * 2)).transform(TOPICS)
    assert sorted(doubled["score"]) == pytest.approx(sorted(plain["score"] * 2))
    fused = (pipeline + pipeline).transform(TOPICS)
    assert sorted(fused["score"]) == pytest.approx(sorted(plain["score"] * 2))
    either = (pipeline | other).transform(TOPICS)
    pairs = [
        set(zip(one["qid"], one["docno"], strict=True))
        for one in (plain, other.transform(TOPICS), either)
    ]
    assert pairs[2] == pairs[0] | pairs[1]
    length = pt.apply.doc_score(lambda row: float(len(row["docno"])))
    features = (pipeline >> (length**length)).transform(TOPICS)
    assert features["features"].map(list).tolist() == [[1.0, 1.0]] * len(plain)


def test_a_cutoff_is_searched_no_deeper(pipeline: Any) -> None:
    compiled = (pipeline % 2).compile()
    assert compiled.k == 2
    assert _rows(compiled.transform(TOPICS)) == _rows((pipeline % 2).transform(TOPICS))
    assert pipeline.fuse_rank_cutoff(9) is None


def test_experiments(bees: PisaArguments) -> None:
    systems = [_pipeline(name, bees) for name in NAMES]
    table = pt.Experiment(systems, TOPICS, QRELS, [nDCG @ 5, RR], names=NAMES).set_index("name")
    assert (table["RR"] > 0).all()
    assert table.loc["attack", "RR"] == 1.0
    assert table.loc["hybrid", "nDCG@5"] == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore")
def test_pyterriers_own_test_of_a_transformer(pipeline: Any) -> None:
    # Not its test of the schematic, which fetches documentation from the network.
    case = pt.testing.transformer_test_class(lambda: pipeline)
    case.setUpClass()
    result = unittest.TestResult()
    case("test_inspect_io").run(result)
    assert (result.errors, result.failures, result.skipped) == ([], [], [])
