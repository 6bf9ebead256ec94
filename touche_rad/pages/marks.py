"""What pages show of an answer: its sentences, its citations with marked words, its verdicts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import pairwise
from typing import Any

from touche_rad.criteria import Criteria
from touche_rad.debate import Response, Verdicts, path_of
from touche_rad.evidence.support import QUOTED_INSIDE, findings_in, supporting_spans
from touche_rad.text import count_words, sentences

MarkedPart = tuple[str, list[int]]
"""A piece of an argument, and the numbers of the sentences that it supports or is quoted in."""


def marked_answer(response: Response, user: Sequence[str]) -> dict[str, Any]:
    """Return an answer to `user` as JSON data: `content`, `words`, `sentences` and `citations`.

    A sentence has `number`, `text`, `state` (supported, unsupported or free), `why`, and `source`,
    the number of its citation or None. A sentence is free if it claims nothing. A citation has
    `number`, `id`, `parts`, `topic`, `attacks` and `path`.
    """
    # The sentences of the whole text; those that claim something have their support.
    findings = findings_in(
        response.content, [argument.text for argument in response.arguments], user
    )
    rows: list[dict[str, Any]] = []
    for number, text in enumerate(sentences(response.content), 1):
        row = {"number": number, "text": text, "state": "free", "why": "", "source": None}
        finding = next((finding for finding in findings if finding.text.strip() in text), None)
        if finding:
            findings.remove(finding)
            row["why"] = finding.support.why
            row["state"] = "supported" if finding.support.supported else "unsupported"
            if finding.support.supported and finding.source is not None:
                row["source"] = finding.source + 1
        rows.append(row)
    citations = []
    for number, argument in enumerate(response.arguments, 1):
        compared = [
            # Of a sentence without a source, only a quotation inside it is marked.
            (row["number"], row["text"], 1 if row["source"] else QUOTED_INSIDE)
            for row in rows
            if row["source"] in (number, None)
        ]
        citations.append(
            {
                "number": number,
                "id": argument.id,
                "parts": mark(argument.text, compared),
                "topic": argument.topic,
                "attacks": argument.attacks,
                "path": list(path_of(argument)),
            }
        )
    return {
        "content": response.content,
        "words": count_words(response.content),
        "sentences": rows,
        "citations": citations,
    }


def shown_verdicts(
    criteria: Criteria, verdicts: Verdicts, unscored: Container[str] = ()
) -> list[dict[str, object]]:
    """Return verdicts as JSON data, in the order of the criteria; unscored ones have no score."""
    rows: list[dict[str, object]] = []
    for criterion in criteria:
        verdict = verdicts.get(criterion.key)
        if verdict:
            row: dict[str, object] = {"name": criterion.title, "rationale": verdict.rationale}
            if criterion.key not in unscored:
                yes = verdict.yes if criterion.answers.kind == "yes-no" else None
                row |= {"yes": yes, "score": verdict.score, "answer": verdict.answer}
            rows.append(row)
    return rows


def mark(text: str, compared: Iterable[tuple[int, str, int]]) -> list[MarkedPart]:
    """Divide an argument's text at the words that it shares with sentences.

    Each sentence has a number, its text, and how many words in a row are marked at least.
    """
    spans: list[tuple[int, int, int]] = []
    edges = {0, len(text)}
    for number, sentence, least in compared:
        for start, end in supporting_spans(sentence, text, least):
            spans.append((start, end, number))
            edges |= {start, end}
    parts: list[MarkedPart] = []
    for start, end in pairwise(sorted(edges)):
        numbers = sorted({number for low, high, number in spans if low <= start and end <= high})
        parts.append((text[start:end], numbers))
    return parts
