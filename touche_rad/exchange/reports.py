"""Runs as files of TREC AutoJudge: reports, topics and a workflow; and a report as a response.

A report is one response, a topic is one user turn of a claim: `2.1` is the first turn of the second
debate. Later turns differ between runs, because the user reacts to the system. So each report has
its conversation in `metadata.extra`, and the topic has only the claim. Each sentence has all
citations of its response: in RAD, citations belong to the whole response.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.debate import Debate, Response, Turn
from touche_rad.errors import InputError
from touche_rad.text import split_sentences, words

WORDS: Final = 60
MEAN: Final = "GRICE"
"""The measure that is the mean of those of the four maxims."""
_CONVERSATION: Final = "conversation"


def report_records(run: Path, run_id: str, team: str) -> Iterator[dict[str, Any]]:
    """Yield the report of each response in a run."""
    for number, debate, _ in files.read_numbered(run):
        for at, turn in enumerate(debate.turns):
            if turn.response is not None:
                yield _report(debate.view(at), turn.response, f"{number}.{at + 1}", run_id, team)


def topic_records(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the topics of runs on the same claims."""
    topics: dict[str, dict[str, Any]] = {}
    for run in runs:
        for number, debate, _ in files.read_numbered(run):
            claim = debate.claim or (debate.turns[0].utterance if debate.turns else "")
            for at in range(len(debate.turns)):
                topic = f"{number}.{at + 1}"
                record = {
                    "request_id": topic,
                    "title": claim,
                    "word_limit": WORDS,
                    "problem_statement": f"Argue against the user in turn {at + 1} of a debate. "
                    f"The user's claim: {claim}",
                }
                if topics.setdefault(topic, record)["title"] != claim:
                    wrong = "the claim differs from another run's: expected the same claims"
                    raise InputError(run, f"{wrong}, in the same order", line=number)
    return list(topics.values())


def truth_lines(run: Path, run_id: str, labels: Path, criteria: Criteria) -> Iterator[str]:
    """Yield the lines of a leaderboard by labels (run, topic, measure, value), the means last."""
    of_debates = list(files.read_labels(labels))
    values: dict[str, list[float]] = {}
    for number, debate, _ in files.read_numbered(run):
        if number > len(of_debates):
            raise InputError(labels, f"expected a line for each debate of {run}, got {number - 1}")
        places = [at for at, turn in enumerate(debate.turns, 1) if turn.response is not None]
        for at, of_turn in zip(places, of_debates[number - 1], strict=False):
            labels_of_turn = {key.upper(): of_turn.get(key) for key in criteria.keys}
            known = {
                name: float(label) for name, label in labels_of_turn.items() if label is not None
            }
            if len(known) == len(criteria):
                known[MEAN] = fmean(known.values())
            for measure, value in known.items():
                values.setdefault(measure, []).append(value)
                yield f"{run_id}\t{number}.{at}\t{measure}\t{value}"
    for measure, of_all in values.items():
        yield f"{run_id}\tall\t{measure}\t{fmean(of_all)}"


def _report(view: Debate, response: Response, topic: str, run_id: str, team: str) -> dict[str, Any]:
    cited = [argument.id for argument in response.arguments]
    sentences = [one for one in split_sentences(response.content) if words(one)]
    if " ".join(sentences) != response.content:
        sentences = [response.content]
    return {
        "metadata": {
            "team_id": team,
            "run_id": run_id,
            "topic_id": topic,
            "extra": {"claim": view.claim, _CONVERSATION: _messages(view)},
        },
        "references": list(dict.fromkeys(cited)),
        "answer": [{"text": text, "citations": cited} for text in sentences],
        "documents": {one.id: json.loads(files.argument_line(one)) for one in response.arguments},
    }


def _messages(view: Debate) -> list[dict[str, Any]]:
    """Return the conversation up to the user's last message, with the cited arguments."""
    messages: list[dict[str, Any]] = []
    for turn in view.turns:
        messages.append({"role": "user", "content": turn.utterance})
        if turn.response is not None:
            cited = [json.loads(files.argument_line(one)) for one in turn.response.arguments]
            content = turn.response.content
            messages.append({"role": "assistant", "content": content, "arguments": cited})
    return messages[:-1] if messages and messages[-1]["role"] == "assistant" else messages


def view_of(report: Mapping[str, Any], titles: Mapping[str, str]) -> Debate:
    """Return what a judge sees of a report: the conversation, the response and its arguments.

    The title of its topic is the user's message if the report has no conversation.
    """
    about = report["metadata"]
    topic = str(about.get("topic_id") or about.get("narrative_id") or about.get("request_id"))
    title = titles.get(topic, "")
    extra = about.get("extra") or {}
    messages = extra.get(_CONVERSATION) or [{"role": "user", "content": title}]
    sentences = report.get("answer") or report.get("responses") or []
    documents = report.get("documents") or {}
    arguments = []
    for name in _cited(sentences, report.get("references") or []):
        # Our own documents say what they attack and support.
        document = {key: one for key, one in (documents.get(name) or {}).items() if one is not None}
        arguments.append(files.argument_of({"text": "", **document, "id": name}, lenient=True))
    content = " ".join(str(one["text"]) for one in sentences)
    response = Response(content=content, arguments=tuple(arguments))
    claim = str(extra.get("claim") or title)
    return Debate(id=topic, claim=claim, turns=_turns(messages)).with_response(response)


def _turns(messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for one in messages:
        if one["role"] == "user":
            turns.append(Turn(utterance=one["content"]))
        elif turns:
            cited = tuple(
                files.argument_of(value, lenient=True) for value in one.get("arguments") or []
            )
            response = Response(content=one["content"], arguments=cited)
            turns[-1] = turns[-1].model_copy(update={"response": response})
    return tuple(turns)


def _cited(sentences: Sequence[Mapping[str, Any]], references: Sequence[str]) -> list[str]:
    """Return the ids of the cited documents, in order; three ways to cite are in use.

    Citations are ids by priority, ids with a confidence, or numbers of `references`.
    """
    ids: dict[str, None] = {}
    for one in sentences:
        cited = one.get("citations") or []
        if isinstance(cited, Mapping):
            cited = sorted(cited, key=lambda name: -cited[name])
        for name in cited:
            if isinstance(name, int):
                if 0 <= name < len(references):
                    ids[references[name]] = None
            else:
                ids[str(name)] = None
    return list(ids)


def workflow(judge: str) -> str:
    """Return a workflow of AutoJudge in which a judge of ours makes the leaderboard and qrels."""
    return _WORKFLOW + f"  judge: {json.dumps(judge)}\n"


_WORKFLOW: Final = """\
# auto-judge run --workflow workflow.yml --rag-responses runs --rag-topics topics.jsonl \
--out-dir out
judge_class: "touche_rad.exchange.autojudge.GriceJudge"
qrels_class: "touche_rad.exchange.autojudge.GriceJudge"
create_nuggets: false
create_qrels: true
judge: true
judge_uses_nuggets: false
qrels_uses_nuggets: false
settings:
  filebase: "{_name}"
"""
