"""Let each query be answered by a model that saw none of its topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pandas as pd

from retrieval.index.store import digest
from retrieval.pipelines import Made, MadeBy
from retrieval.tasks import Topic
from touche_rad.debate import Argument

FEW = 0.1


class Learnt(Protocol):
    """The report of a training."""

    @property
    def collection(self) -> str: ...

    def saw(self, topic: str) -> bool: ...


def answerers(
    reports: Mapping[str, Learnt],
    arguments: Sequence[Argument],
    found: Sequence[Topic],
    otherwise: str,
) -> dict[str, set[str]]:
    """The queries that each model answers; the few that none may answer are for `otherwise`."""
    if any(report.collection != digest(arguments) for report in reports.values()):
        raise SystemExit("a model learnt from another collection: what it saw is not known")
    topic_of = {one.id: one.topic for one in arguments}
    answers: dict[str, set[str]] = {otherwise: set(), **{name: set() for name in reports}}
    for one in found:
        about = {topic_of[docno] for docno in one.relevant}
        blind = [name for name, report in reports.items() if not any(map(report.saw, about))]
        answers[blind[0] if blind else otherwise].add(one.qid)
    if len(answers[otherwise]) > len(found) * FEW:
        raise SystemExit("the models saw topics of too many queries: give those of all folds")
    return answers


def by_turns(make: MadeBy, answers: Mapping[str, set[str]]) -> Made:
    """The pipeline in which each model answers its own queries."""

    def made(index: Any) -> Any:
        def answered(asked: pd.DataFrame) -> pd.DataFrame:
            found: pd.DataFrame = pd.concat(
                make(index, name)(asked[asked["qid"].isin(qids)])
                for name, qids in answers.items()
                if qids
            )
            return found

        return answered

    return made
