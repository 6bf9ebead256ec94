"""An answer for the page: its sentences, and its citations with the supporting words marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from touche_rad.debate import Response, path_of
from touche_rad.evidence.support import Finding, findings_in, supporting_spans
from touche_rad.text import count_words, sentences

Part = tuple[str, list[int]]
"""A piece of an argument, and the numbers of the sentences that it supports."""


def marked_answer(response: Response) -> dict[str, Any]:
    """Return an answer as JSON data: `content`, `words`, `sentences` and `citations`.

    A sentence has `number`, `text`, `state` (supported, unsupported or free), `why`, and `source`,
    the number of its citation or None. A sentence is free if it claims nothing. A citation has
    `number`, `id`, `parts`, `topic`, `attacks`, `path`, and `uses`, which says what it supports.
    """
    texts = [argument.text for argument in response.arguments]
    claims = findings_in(response.content, texts)
    rows = _sentences(response.content, claims)
    citations = []
    for number, argument in enumerate(response.arguments, 1):
        supported = [(one["number"], one["text"]) for one in rows if one["source"] == number]
        citations.append(
            {
                "number": number,
                "id": argument.id,
                "parts": mark(argument.text, supported),
                "topic": argument.topic,
                "attacks": argument.attacks,
                "path": list(path_of(argument)),
                "uses": _uses(number, rows),
            }
        )
    words = count_words(response.content)
    return {"content": response.content, "words": words, "sentences": rows, "citations": citations}


def mark(text: str, supported: Sequence[tuple[int, str]]) -> list[Part]:
    """Divide an argument's text at the words that it shares with the sentences it supports."""
    spans = [
        (start, end, number)
        for number, sentence in supported
        for start, end in supporting_spans(sentence, text)
    ]
    edges = sorted({0, len(text), *(at for span in spans for at in span[:2])})
    parts: list[Part] = []
    for start, end in pairwise(edges):
        numbers = sorted({number for low, high, number in spans if low <= start and end <= high})
        parts.append((text[start:end], numbers))
    return parts


def _sentences(content: str, claims: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the sentences of the whole text; those that claim something have their support."""
    rest = list(claims)
    rows = []
    for number, text in enumerate(sentences(content), 1):
        one = next((claim for claim in rest if claim.text.strip() in text), None)
        if one is not None:
            rest.remove(one)
        state = "free" if one is None else "supported" if one.support.supported else "unsupported"
        rows.append(
            {
                "number": number,
                "text": text,
                "state": state,
                "why": one.support.why if one else "",
                "source": one.source + 1
                if one and one.support.supported and one.source is not None
                else None,
            }
        )
    return rows


def _uses(number: int, rows: Sequence[dict[str, Any]]) -> str:
    by_reason: dict[str, list[str]] = {}
    for one in rows:
        if one["source"] == number:
            by_reason.setdefault(one["why"], []).append(str(one["number"]))
    return "; ".join(
        f"sentences {' and '.join(numbers)}: each {why}"
        if len(numbers) > 1
        else f"sentence {numbers[0]} {why}"
        for why, numbers in by_reason.items()
    )
