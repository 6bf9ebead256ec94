"""Files of debates as PyTerrier's frames of topics and qrels.

A topic is one turn of a debate. Its qid is `DEBATE/TURN`, its query the user's message, and the
column `debate` holds the whole conversation so far, which debaters and judges need.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from touche_rad import files
from touche_rad.criteria import grice
from touche_rad.debate import Debate

TOPICS = ("qid", "query", "debate")
ANSWERS = (*TOPICS, "qanswer", "qcontext")


def answer_topics(path: str | Path) -> pd.DataFrame:
    """Return each user message of a file of debates or claims as a topic to answer."""
    rows = [
        {**_topic(view), "debate": view}
        for debate in files.read_debates(Path(path))
        for view in debate.views("user")
    ]
    return pd.DataFrame(rows, columns=list(TOPICS))


def judge_topics(path: str | Path) -> pd.DataFrame:
    """Return each response of a file of debates as a topic to judge."""
    rows = [
        {
            **_topic(view),
            "debate": view,
            "qanswer": view.last.answer,
            "qcontext": context_of(view),
        }
        for _, views in files.read_views(Path(path))
        for view in views
    ]
    return pd.DataFrame(rows, columns=list(ANSWERS))


def label_qrels(debates: str | Path, labels: str | Path) -> pd.DataFrame:
    """Return people's labels as qrels: the documents of a turn are the maxims, with 1 for yes."""
    rows = []
    for debate, labels_of_debate, _ in files.read_labelled(debates, labels):
        for number, (turn, labels_of_turn) in enumerate(
            zip(debate.turns, labels_of_debate, strict=True)
        ):
            if not turn.response:
                continue
            qid = _topic(debate.view(number))["qid"]
            for key in grice().keys:
                if (label := labels_of_turn.get(key)) is not None:
                    rows.append({"qid": qid, "docno": key, "label": int(label)})
    return pd.DataFrame(rows, columns=["qid", "docno", "label"])


def context_of(debate: Debate) -> str:
    """Return the texts of the cited arguments of the last response, as pyterrier_rag joins them."""
    response = debate.last.response
    return "\n".join(argument.text for argument in response.arguments) if response else ""


def _topic(view: Debate) -> dict[str, Any]:
    return {"qid": f"{view.key}/{len(view.turns)}", "query": view.last.utterance}
