"""The transformers: a debater answers each topic, a judge gives verdicts on each answer."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pandas as pd
import pyterrier as pt

from touche_rad import plugins, session
from touche_rad.criteria import grice
from touche_rad.debate import Argument, Debate, Hit, Response, Turn
from touche_rad.errors import UserError
from touche_rad.models import Model
from touche_rad.pipelines.frames import context_of
from touche_rad.plugins import ArgumentIndex, Configured, LoadedDebater, LoadedJudge, Services
from touche_rad.plugins.registry import configure
from touche_rad.runs.answering import make_answerer
from touche_rad.runs.judging import judge_view

_ADDED: Final = ("debate", "qanswer", "qcontext", "debater")
"""Columns of an answer."""
_RESULT: Final = ("docno", "text", "score", "rank", "path")
"""Columns of a retriever's result, of which a topic has several."""


def _services(
    configured: Configured, index: str | ArgumentIndex | None, model: Model | None, seed: int
) -> Services:
    """Return what a plugin works with; its index may be open already."""
    plugin = configured.plugin
    wants_index = plugin.kind == "debater" or "index" in plugin.needs
    if index is None and wants_index and not configured.works_without_index:
        raise UserError(f"{plugin.kind} {plugin.name} needs index=LOCATION, or index='demo'")
    opened = plugins.open_index(index) if isinstance(index, str) else index
    return Services(index=opened, model=model, seed=seed)


class _OfPlugin(pt.Transformer):
    """A transformer of one plugin, which it is shown as."""

    def __init__(self, plugin: str) -> None:
        super().__init__()
        self.plugin = plugin

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plugin!r})"


class Answer(_OfPlugin):
    """A debater: topics in, answers out.

    Input: `qid` and `query`, with the conversation in `debate` if there is one. If the input also
    has `docno` (the results of a retriever), the debater's searches return these documents.
    Output: one row per topic with `qanswer`, `qcontext` (the cited texts), `debate`, and `debater`
    (who answered; a fallback's name if the debater failed).
    """

    def __init__(
        self,
        plugin: str,
        *,
        index: str | ArgumentIndex | None = None,
        model: Model | None = None,
        seed: int = 0,
    ) -> None:
        """Find the debater and check its options."""
        super().__init__(plugin)
        self.debater: Configured[LoadedDebater] = configure("debater", plugin)
        self.services = _services(self.debater, index, model, seed)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Answer each topic; a topic without documents is answered too."""
        inp = _with_query(inp)
        pt.validate.columns(inp, includes=["qid", "query"], warn=False)
        if "docno" in inp.columns and self.services.index is None:
            raise UserError(
                f"debater {self.debater.plugin.name} needs index=LOCATION, with the documents"
            )
        columns = [column for column in inp.columns if column not in (*_ADDED, *_RESULT)]
        rows = []
        for _, group in inp.groupby("qid", sort=False):
            first = group.iloc[0].to_dict()
            debate = _debate_asked(first)
            services = self.services
            if services.index is not None and "docno" in inp.columns:
                services = replace(services, index=Candidates(services.index, group))
            answer = session.run(make_answerer(self.debater, services).answer, debate)
            answered = debate.with_response(answer.response)
            rows.append(
                {
                    **{key: first[key] for key in columns},
                    "debate": answered,
                    "qanswer": answer.response.content,
                    "qcontext": context_of(answered),
                    "debater": answer.by,
                }
            )
        return pd.DataFrame(rows, columns=[*columns, *_ADDED])


def _with_query(inp: pd.DataFrame) -> pd.DataFrame:
    """Name the query `query` again: readers of pyterrier_rag keep it as `query_0`."""
    if "query" in inp.columns or "query_0" not in inp.columns:
        return inp
    return inp.rename(columns={"query_0": "query"})


class Texts(pt.Transformer):
    """Adds the column `text` to the results of a retriever, for readers of pyterrier_rag."""

    def __init__(self, index: str | ArgumentIndex) -> None:
        """Open the index that contains the documents; it may be open already."""
        super().__init__()
        self.index = plugins.open_index(index) if isinstance(index, str) else index

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Add the text of each argument; it is empty if the index does not contain it."""
        pt.validate.columns(inp, includes=["docno"], warn=False)
        arguments = (self.index.get(str(docno)) for docno in inp["docno"])
        return inp.assign(text=[argument.text if argument else "" for argument in arguments])


class Judge(_OfPlugin):
    """A judge: answers in, verdicts out.

    Input: `qid`, `query` and `qanswer`, with `debate` or `qcontext` (one cited text a line).
    Output: one row per maxim as `docno`, with `score` (0 to 1) and `rank`. By default only maxims
    with the verdict yes are returned, so that the measures of sets (SetP, SetR, SetF) compare them
    with `label_qrels`; `threshold=0` returns all.
    """

    def __init__(
        self,
        plugin: str,
        *,
        threshold: float = 0.5,
        index: str | ArgumentIndex | None = None,
        model: Model | None = None,
        seed: int = 0,
    ) -> None:
        """Make the judge."""
        super().__init__(plugin)
        self.threshold = threshold
        judge: Configured[LoadedJudge] = configure("judge", plugin)
        self.judge = judge.make(_services(judge, index, model, seed))

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Judge each answer; other columns of the answers are kept."""
        inp = _with_query(inp)
        pt.validate.columns(inp, includes=["qid", "query", "qanswer"], warn=False)
        columns = [column for column in inp.columns if column not in (*_RESULT, "rationale")]
        rows = []
        for row in inp.to_dict("records"):
            judgement = session.run(judge_view, self.judge, _debate_answered(row), grice())
            kept_columns = {key: row[key] for key in columns}
            scores = {
                key: verdict.score
                for key, verdict in judgement.verdicts.items()
                if verdict.score is not None and verdict.score >= self.threshold
            }
            for rank, key in enumerate(sorted(scores, key=lambda key: (-scores[key], key))):
                rows.append(
                    {
                        **kept_columns,
                        "docno": key,
                        "score": scores[key],
                        "rank": rank,
                        "rationale": judgement.verdicts[key].rationale,
                    }
                )
        columns += ["docno", "score", "rank", "rationale"]
        return pd.DataFrame(rows, columns=columns).astype({"score": float, "rank": int})


def _debate_asked(row: Mapping[Hashable, Any]) -> Debate:
    """Return the debate in a row, or one of its query alone."""
    debate = row.get("debate")
    if isinstance(debate, Debate):
        return debate
    query = str(row["query"])
    return Debate(id=str(row["qid"]), claim=query, turns=(Turn(utterance=query),))


def _debate_answered(row: Mapping[Hashable, Any]) -> Debate:
    debate = _debate_asked(row)
    answer = str(row["qanswer"])
    if debate.last.response and debate.last.response.content == answer:
        return debate
    texts = [line for line in str(row.get("qcontext") or "").splitlines() if line.strip()]
    cited = tuple(Argument(id=str(number), text=text) for number, text in enumerate(texts, 1))
    return debate.with_response(Response(content=answer, arguments=cited))


class Candidates(ArgumentIndex):
    """An index whose searches return the documents that a retriever found."""

    def __init__(self, index: ArgumentIndex, documents: pd.DataFrame) -> None:
        """Keep the documents of one topic: rows with `docno`, and perhaps `score` and `rank`."""
        self._index = index
        if "rank" in documents.columns:
            documents = documents.sort_values("rank", kind="stable")
        scores = (
            documents["score"] if "score" in documents.columns else range(len(documents), 0, -1)
        )
        arguments = plugins.arguments_by(index, [str(docno) for docno in documents["docno"]])
        scored = [pair for pair in zip(arguments, scores, strict=True) if pair[0]]
        self._hits = [
            Hit(argument=argument, score=float(score), rank=rank)
            for rank, (argument, score) in enumerate(scored)
        ]

    def __len__(self) -> int:
        return len(self._hits)

    @property
    def fingerprint(self) -> str:
        """The digest of the whole index."""
        return self._index.fingerprint

    def get(self, argument_id: str) -> Argument | None:
        """Return an argument of the whole index."""
        return self._index.get(argument_id)

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return the first `k` documents for each query."""
        return [self._hits[:k] for _ in queries]

    def arguments(self) -> Iterator[Argument]:
        """Yield the documents."""
        return (hit.argument for hit in self._hits)
