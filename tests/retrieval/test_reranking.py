"""Reranking by agreement of topics."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyterrier as pt
import pytest

from benchmarks.quality_pipelines import TopicAgreement
from retrieval.index.pisa import PisaArguments
from tests.retrieval.small import opened
from touche_rad.debate import Argument
from touche_rad.plugins import Services, find

ARGUMENTS = (
    Argument(id="a", topic="Zoos", text="Zoos keep rare animals alive."),
    Argument(id="b", topic="Zoos", text="Zoos keep rare animals alive today."),
    Argument(id="c", topic="Zoos", text="Children learn about nature there."),
    Argument(id="d", topic="Trains", text="Night trains spare a hotel."),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> PisaArguments:
    return opened(ARGUMENTS, tmp_path_factory.mktemp("four") / "ix")


def _found(**scores: float) -> pd.DataFrame:
    rows = [("q", "zoos", docno, score) for docno, score in scores.items()]
    return pt.model.add_ranks(pd.DataFrame(rows, columns=["qid", "query", "docno", "score"]))


def _order(frame: Any) -> list[str]:
    return list(frame.sort_values("rank")["docno"])


def test_many_of_a_topic_speak_for_it(index: PisaArguments) -> None:
    found = _found(d=0.80, a=0.79, b=0.78, c=0.70)
    assert _order(TopicAgreement(index, weight=0.0)(found)) == ["d", "a", "b", "c"]
    reranked = TopicAgreement(index, weight=0.3, temperature=0.2)(found)
    assert _order(reranked) == ["a", "b", "c", "d"]
    added = dict(zip(reranked["docno"], reranked["score"], strict=True))
    assert added["a"] - 0.79 == pytest.approx(added["c"] - 0.70)
    assert added["a"] - 0.79 + added["d"] - 0.80 == pytest.approx(0.3)


def test_it_composes_and_declares_its_columns(index: PisaArguments) -> None:
    search = find("retriever", "text").make(Services(index=index)).pipeline(9)
    pipeline = search >> TopicAgreement(index)
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["zoos", "trains"], "user": ["u", "v"]})
    found = pipeline(topics)
    assert set(found["qid"]) == {"1", "2"}
    assert {"qid", "query", "user", "docno", "score", "rank"} <= set(found.columns)
    assert len(pipeline(topics.iloc[:0])) == 0
    nothing = pipeline(topics.assign(query="zzz"))
    assert len(nothing) == 0
    assert "docno" in pt.inspect.transformer_outputs(pipeline, ["qid", "query"])
    with pytest.raises(Exception, match="docno"):
        TopicAgreement(index)(topics)
