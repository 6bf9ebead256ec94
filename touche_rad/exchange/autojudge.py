"""Our judges as plugins of TREC AutoJudge (the package autojudge-base).

A workflow names the class and the judge; `touche-rad export autojudge` writes one:

    judge_class: "touche_rad.exchange.autojudge.GriceJudge"
    settings:
      judge: "NAME"

    auto-judge run --workflow workflow.yml --rag-responses runs --rag-topics topics.jsonl

The leaderboard has a measure for each maxim and their mean, `GRICE`. The qrels have grade 1 for a
cited argument that supports a sentence of a response, else 0. There are no nuggets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from touche_rad import session
from touche_rad.criteria import grice
from touche_rad.debate import Debate
from touche_rad.errors import UserError
from touche_rad.evidence.support import findings_in
from touche_rad.exchange.reports import MEAN, view_of
from touche_rad.models import Model
from touche_rad.models.model import open_backend
from touche_rad.plugins import Services, find, parse_plugin
from touche_rad.plugins.registry import Plugin
from touche_rad.runs.judging import judge_view


class GriceJudge:
    """Judges reports with a judge of touche-rad; the setting `judge` names it."""

    nugget_banks_type = None

    def judge(
        self,
        rag_responses: Iterable[Any],
        rag_topics: Sequence[Any],
        llm_config: Any,
        *,
        judge: str = "",
        **settings: object,
    ) -> Any:
        """Return the scores of each report on the four maxims."""
        from autojudge_base import LeaderboardBuilder, LeaderboardSpec, MeasureSpec

        if not judge:
            raise UserError("workflow: settings.judge names no judge: touche-rad list judge")
        name, options = parse_plugin(judge)
        plugin = find("judge", name)
        loaded_judge = plugin.make(Services(model=_model(plugin, llm_config)), options)
        criteria = grice()
        measures = [*(key.upper() for key in criteria.keys), MEAN]
        spec = LeaderboardSpec(measures=tuple(MeasureSpec(measure) for measure in measures))
        builder = LeaderboardBuilder(spec)
        for report, view in _views(rag_responses, rag_topics):
            verdicts = session.run(judge_view, loaded_judge, view, criteria).verdicts
            values = {key.upper(): verdicts[key].score or 0.0 for key in criteria.keys}
            values[MEAN] = sum(values.values()) / len(values)
            metadata = report.metadata
            builder.add(run_id=metadata.run_id, topic_id=metadata.topic_id, values=values)
        topics = [topic.request_id for topic in rag_topics]
        return builder.build(expected_topic_ids=topics, on_missing="fix_aggregate")

    def create_qrels(
        self,
        rag_responses: Iterable[Any],
        rag_topics: Sequence[Any],
        llm_config: Any,
        **settings: object,
    ) -> Any:
        """Return for each cited argument whether it supports a sentence of a response.

        AutoJudge wants a row for each topic: a response without citations is itself a document, by
        the digest of its text, with grade 0.
        """
        from autojudge_base import QrelRow, Qrels, doc_id_md5

        grades: dict[tuple[str, str], int] = {}
        for report, view in _views(rag_responses, rag_topics):
            response = view.last.response
            if response is None:
                continue
            topic = str(report.metadata.topic_id)
            if not response.arguments:
                grades[topic, doc_id_md5(response.content)] = 0
            texts = [argument.text for argument in response.arguments]
            findings = findings_in(response.content, texts)
            supporting = {finding.source for finding in findings if finding.support.supported}
            for number, argument in enumerate(response.arguments):
                # Several runs may cite it for the same topic.
                key = topic, argument.id
                grades[key] = max(grades.get(key, 0), int(number in supporting))
        rows = [
            QrelRow(topic_id=topic, doc_id=document, grade=grade)
            for (topic, document), grade in grades.items()
        ]
        return Qrels(rows=rows)

    def create_nuggets(self, *args: object, **settings: object) -> None:
        """Create no nuggets: a debate has no list of facts that a response must name."""


def _views(reports: Iterable[Any], topics: Sequence[Any]) -> Iterable[tuple[Any, Debate]]:
    titles = {topic.request_id: topic.title for topic in topics}
    for report in reports:
        yield report, view_of(report.model_dump(mode="json", exclude={"path"}), titles)


def _model(plugin: Plugin, config: Any) -> Model | None:
    """Return the model that AutoJudge configured, if the judge needs or uses one."""
    address = getattr(config, "base_url", None)
    if address and plugin.uses_model:
        return Model(open_backend(f"{address}#{config.model}"))
    if "model" in plugin.needs:
        raise UserError(f"judge {plugin.name} needs a model: set OPENAI_BASE_URL and OPENAI_MODEL")
    return None
