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
from touche_rad.debate import Argument, Debate, Response, Turn
from touche_rad.errors import InputError
from touche_rad.text import split_sentences, words

MAX_WORDS: Final = 60
MEAN: Final = "GRICE"
"""The measure that is the mean of those of the four maxims."""
_CONVERSATION: Final = "conversation"


def report_records(run: Path, run_id: str, team: str) -> Iterator[dict[str, Any]]:
    """Yield the report of each response in a run."""
    for number, debate, _ in files.read_numbered(run):
        for at, turn in enumerate(debate.turns):
            response = turn.response
            if response is None:
                continue
            # A text that is not its sentences, joined by single spaces, stays whole.
            sentences = [text for text in split_sentences(response.content) if words(text)]
            if " ".join(sentences) != response.content:
                sentences = [response.content]
            cited = [argument.id for argument in response.arguments]
            documents = {argument.id: _document(argument) for argument in response.arguments}
            yield {
                "metadata": {
                    "team_id": team,
                    "run_id": run_id,
                    "topic_id": f"{number}.{at + 1}",
                    "extra": {
                        "claim": debate.claim,
                        _CONVERSATION: _messages(debate.before_response(at)),
                    },
                },
                "references": list(documents),
                "answer": [{"text": text, "citations": cited} for text in sentences],
                "documents": documents,
            }


def _messages(debate: Debate) -> list[dict[str, Any]]:
    """Return the conversation up to the user's last message, with the cited arguments."""
    messages: list[dict[str, Any]] = []
    for turn in debate.turns:
        messages.append({"role": "user", "content": turn.utterance})
        if turn.response is not None:
            cited = [_document(argument) for argument in turn.response.arguments]
            content = turn.response.content
            messages.append({"role": "assistant", "content": content, "arguments": cited})
    return messages


def _document(argument: Argument) -> object:
    return json.loads(files.argument_line(argument))


def topic_records(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the topics of runs on the same claims."""
    topics: dict[str, dict[str, Any]] = {}
    for run in runs:
        for number, debate, _ in files.read_numbered(run):
            for turn in range(1, len(debate.turns) + 1):
                claim = debate.claim or debate.turns[0].utterance
                topic = f"{number}.{turn}"
                record = {
                    "request_id": topic,
                    "title": claim,
                    "word_limit": MAX_WORDS,
                    "problem_statement": f"Argue against the user in turn {turn} of a debate. "
                    f"The user's claim: {claim}",
                }
                if topics.setdefault(topic, record)["title"] != claim:
                    problem = "the claim differs from another run's: expected the same claims"
                    raise InputError(run, f"{problem}, in the same order", line=number)
    return list(topics.values())


def truth_lines(run: Path, run_id: str, labels: Path, criteria: Criteria) -> Iterator[str]:
    """Yield the lines of a leaderboard by labels (run, topic, measure, value), the means last."""
    debates = list(files.read_labels(labels))
    values: dict[str, list[float]] = {}
    for number, debate, _ in files.read_numbered(run):
        if number > len(debates):
            raise InputError(labels, f"expected a line for each debate of {run}, got {number - 1}")
        answered = [at for at, turn in enumerate(debate.turns, 1) if turn.response is not None]
        for at, labels_of_turn in zip(answered, debates[number - 1], strict=False):
            known: dict[str, float] = {}
            for key in criteria.keys:
                label = labels_of_turn.get(key)
                if label is not None:
                    known[key.upper()] = float(label)
            if len(known) == len(criteria):
                known[MEAN] = fmean(known.values())
            for measure, value in known.items():
                values.setdefault(measure, []).append(value)
                yield f"{run_id}\t{number}.{at}\t{measure}\t{value}"
    for measure, values_of_all in values.items():
        yield f"{run_id}\tall\t{measure}\t{fmean(values_of_all)}"


def view_of(report: Mapping[str, Any], titles: Mapping[str, str]) -> Debate:
    """Return what a judge sees of a report: the conversation, the response and its arguments.

    The title of its topic is the user's message if the report has no conversation.
    """
    metadata = report["metadata"]
    topic = str(
        metadata.get("topic_id") or metadata.get("narrative_id") or metadata.get("request_id")
    )
    title = titles.get(topic, "")
    extra = metadata.get("extra") or {}
    messages = extra.get(_CONVERSATION) or [{"role": "user", "content": title}]
    sentences = report.get("answer") or report.get("responses") or []
    documents = report.get("documents") or {}
    arguments = []
    for name in _cited(sentences, report.get("references") or []):
        # Our own documents say what they attack and support.
        document = documents.get(name) or {}
        fields = {key: value for key, value in document.items() if value is not None}
        arguments.append(files.argument_of({"text": "", **fields, "id": name}, lenient=True))
    content = " ".join(str(sentence["text"]) for sentence in sentences)
    response = Response(content=content, arguments=tuple(arguments))
    claim = str(extra.get("claim") or title)
    return Debate(id=topic, claim=claim, turns=_turns(messages)).with_response(response)


def _turns(messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Return a conversation as turns; a system that speaks first is left out."""
    turns: list[Turn] = []
    for message in messages:
        if message["role"] == "user":
            turns.append(Turn(utterance=message["content"]))
        elif turns:
            documents = message.get("arguments") or []
            cited = tuple(files.argument_of(document, lenient=True) for document in documents)
            response = Response(content=message["content"], arguments=cited)
            turns[-1] = turns[-1].model_copy(update={"response": response})
    return tuple(turns)


def _cited(sentences: Sequence[Mapping[str, Any]], references: Sequence[str]) -> list[str]:
    """Return the ids of the cited documents, in order; three ways to cite are in use.

    Citations are ids by priority, ids with a confidence, or numbers of `references`.
    """
    ids: dict[str, None] = {}
    for sentence in sentences:
        cited = sentence.get("citations") or []
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
