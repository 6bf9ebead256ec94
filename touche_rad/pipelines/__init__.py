"""Debaters and judges as PyTerrier transformers, for `pt.Experiment`.

    import pyterrier as pt
    from ir_measures import SetF, SetP, SetR
    from touche_rad.pipelines import Answer, Judge, judge_topics, label_qrels

    pt.Experiment(
        [Judge("grounded"), Judge("length")],
        judge_topics("debates.jsonl"), label_qrels("debates.jsonl", "labels.jsonl"),
        eval_metrics=[SetP, SetR, SetF], names=["grounded", "length"],
    )

`retriever % 10 >> Answer("grounded") >> Judge("zsl", model=...)` compares retrievers and debaters
by the verdicts of a judge. The columns are those of PyTerrier and pyterrier_rag: `qid`, `query`,
`docno`, `text`, `score`, `rank`, `qanswer`, `qcontext`. A reader of pyterrier_rag needs texts:
`retriever % 10 >> Texts(index) >> Concatenator() >> reader >> Judge("grounded")`.
"""

from touche_rad.pipelines.frames import answer_topics, judge_topics, label_qrels
from touche_rad.pipelines.transformers import Answer, Judge, Texts

__all__ = ["Answer", "Judge", "Texts", "answer_topics", "judge_topics", "label_qrels"]
