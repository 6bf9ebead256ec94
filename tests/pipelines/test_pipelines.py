"""Debaters and judges in PyTerrier: pipelines, experiments, and the frames of our files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import SetP, SetR

from tests.demo import DEBATES, LABELS
from tests.records import copy_lines
from tests.refusals import expect_error
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Argument, Debate, Response
from touche_rad.errors import OptionError
from touche_rad.pipelines import Answer, Judge, Texts, answer_topics, judge_topics, label_qrels
from touche_rad.plugins import Options, Services, debater, find, open_index


def test_an_experiment_scores_judges_as_the_official_measures_do(tmp_path: Path) -> None:
    topics = judge_topics(DEBATES)
    table = pt.Experiment(
        [Judge("grounded"), Judge("always-yes")],
        topics,
        label_qrels(DEBATES, LABELS),
        eval_metrics=[SetP, SetR],
        names=["grounded", "always-yes"],
    ).set_index("name")
    assert table.loc["always-yes", "SetR"] >= table.loc["grounded", "SetR"]
    assert table.loc["grounded", "SetP"] > table.loc["always-yes", "SetP"] + 0.1
    out = tmp_path / "evaluations.jsonl"
    touche_rad("judge -j grounded --quiet", DEBATES, "-o", out)
    scores = []
    for evaluation in files.read_evaluations(out):
        for verdicts in evaluation.turns:
            scores += [verdict.score for verdict in verdicts.values()]
    every = Judge("grounded", threshold=0.0)(topics)
    assert sorted(every["score"]) == pytest.approx(sorted(scores))


def test_retriever_debater_and_judge_are_one_pipeline(demo_index_path: Path) -> None:
    index = open_index(str(demo_index_path))
    search = find("retriever", "attack").make(Services(index=index)).pipeline(20)
    pipeline = search % 5 >> Answer("verbatim", index=index) >> Judge("grounded", threshold=0.0)
    topics = pd.DataFrame({"qid": ["1"], "query": ["Zoos should be closed."], "note": ["kept"]})
    (best, *_) = (search % 5)(topics)["docno"].tolist()
    verdicts = pipeline(topics)
    assert sorted(verdicts["docno"]) == ["manner", "quality", "quantity", "relation"]
    assert set(verdicts["note"]) == {"kept"}
    cited = index.get(best)
    assert cited is not None
    assert verdicts["qanswer"].iloc[0].startswith(cited.text[:30])
    assert verdicts["qcontext"].iloc[0] == cited.text


def test_each_user_message_of_a_file_is_answered_in_its_conversation() -> None:
    topics = answer_topics(DEBATES).head(3)
    answers = Answer("grounded", index="demo")(topics)
    assert answers["qid"].tolist() == topics["qid"].tolist()
    assert all(isinstance(debate, Debate) for debate in answers["debate"])
    assert [len(debate.turns) for debate in answers["debate"]] == [1, 2, 3]
    assert set(answers["debater"]) == {"grounded"}
    assert all(0 < len(text.split()) <= 60 for text in answers["qanswer"])


def test_a_debater_that_works_without_an_index_answers_without_one() -> None:
    @debater("free", needs=("index",))
    class Free:
        """Needs an index, but not with its default options."""

        works_without_index = staticmethod(lambda options: True)

        def __init__(self, options: Options, services: Services) -> None:
            pass

        def answer(self, debate: Debate) -> Response:
            return Response(content="No.")

    answers = Answer("free")(answer_topics(DEBATES).head(1))
    assert answers["debater"].tolist() == ["free"]


@pytest.fixture
def searching() -> str:
    """A debater that cites the first two results of its second search."""

    @debater("searching", needs=("index",))
    class Searching:
        """Cites what it finds."""

        def __init__(self, options: Options, services: Services) -> None:
            self.index = services.index

        def answer(self, debate: Debate) -> Response:
            _, hits = self.index.search_all("text", ["trams", debate.last.utterance], 2)
            assert [hit.rank for hit in hits] == [0, 1]
            assert hits == self.index.search("text", "buses", 2)
            assert [hit.argument for hit in hits] == list(self.index.arguments())[:2]
            cited = tuple(hit.argument for hit in hits)
            return Response(content=f"Of {len(self.index)}.", arguments=cited)

    return "searching"


def test_the_searches_of_a_debater_return_the_documents_of_a_retriever(
    searching: str, demo_index_path: Path
) -> None:
    index = open_index(str(demo_index_path))
    documents = [argument.id for argument, _ in zip(index.arguments(), range(3), strict=False)]
    frame = pd.DataFrame(
        {"qid": "1", "query": "Zoos should be closed.", "docno": [*documents, "unknown"]}
    )
    answer = Answer(searching, index=index)
    assert repr(answer) == "Answer('searching')"
    in_order = answer(frame).iloc[0]
    assert in_order["qanswer"] == "Of 3."
    assert [argument.id for argument in cited(in_order)] == documents[:2]
    ranked = answer(frame.assign(rank=[2, 1, 0, 3], score=[1.0, 2.0, 3.0, 0.0])).iloc[0]
    assert [argument.id for argument in cited(ranked)] == documents[:0:-1]


def cited(row: pd.Series) -> Sequence[Argument]:
    response = row["debate"].last.response
    assert response is not None
    return response.arguments


def test_a_debater_that_searches_needs_an_index(searching: str) -> None:
    with expect_error("index=LOCATION"):
        Answer(searching)


def test_a_frame_of_another_system_is_judged_by_its_texts() -> None:
    frame = pd.DataFrame(
        {
            "qid": ["1", "2"],
            "query": ["Zoos should be closed."] * 2,
            "qanswer": ["Zoos protect rare animals."] * 2,
            "qcontext": ["Zoos protect rare animals.", "Trams are loud."],
        }
    )
    verdicts = Judge("grounded", threshold=0.0)(frame).set_index(["qid", "docno"])
    assert verdicts.loc[("1", "quality"), "score"] >= 0.5
    assert verdicts.loc[("2", "quality"), "score"] < 0.5


def test_wrong_input_is_named(tmp_path: Path) -> None:
    with expect_error("grounded", OptionError):
        Judge("grundet")
    with expect_error("'x'", OptionError):
        Answer("verbatim(x=1)", index="demo")
    with pytest.raises(pt.validate.InputValidationError, match="qanswer"):
        Judge("grounded")(pd.DataFrame({"qid": ["1"], "query": ["x"]}))
    short = tmp_path / "labels.jsonl"
    copy_lines(LABELS, short)
    with expect_error("debate 2 of 3 turns"):
        label_qrels(DEBATES, short)


def test_results_have_texts_for_a_reader(demo_index_path: Path) -> None:
    index = open_index(str(demo_index_path))
    search = find("retriever", "attack").make(Services(index=index)).pipeline(20)
    topics = pd.DataFrame({"qid": ["1"], "query": ["Zoos should be closed."]})
    results = (search % 3 >> Texts(index))(topics)
    argument = index.get(results["docno"][0])
    assert argument is not None
    assert results["text"][0] == argument.text


def test_answers_of_a_reader_of_pyterrier_rag_are_judged() -> None:
    """Its readers give `qid`, `prompt`, `qanswer`, and the query as `query_0`."""
    answers = pd.DataFrame(
        {
            "prompt": ["Answer: Zoos should be closed."],
            "qid": ["1"],
            "query_0": ["Zoos should be closed."],
            "qanswer": ["Zoos keep species alive."],
        }
    )
    verdicts = Judge("grounded", threshold=0.0)(answers)
    assert set(verdicts["query"]) == {"Zoos should be closed."}
    assert sorted(verdicts["docno"]) == ["manner", "quality", "quantity", "relation"]
