"""Debaters and judges as PyTerrier transformers, for `pt.Experiment`.

`retriever % 10 >> Answer("grounded") >> Judge("zsl", model=...)` compares retrievers and debaters
by the verdicts of a judge. The columns are those of PyTerrier and pyterrier_rag: `qid`, `query`,
`docno`, `text`, `score`, `rank`, `qanswer`, `qcontext`. See docs/retrieval.md.
"""

from touche_rad.pipelines.frames import answer_topics, judge_topics, label_qrels
from touche_rad.pipelines.transformers import Answer, Judge, Texts

__all__ = ["Answer", "Judge", "Texts", "answer_topics", "judge_topics", "label_qrels"]
