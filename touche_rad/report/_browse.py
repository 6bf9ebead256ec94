"""The data of the debates in a report: an index to filter by, and parts that are loaded on demand.

The index has the claims, the debates, and for each turn its marks and every verdict as one letter.
Texts and rationales are in the parts. All of it is JSON; the script of the page makes elements and
text nodes of it, never markup.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from touche_rad.criteria import Criteria
from touche_rad.debate import Verdicts
from touche_rad.pages import marked_answer, to_json
from touche_rad.report._conversations import ClaimTopic, Conversation

LIMIT: Final = 60
PART_LETTERS: Final = 250_000
"""Letters of JSON after which a new part begins."""
LONG, UNSUPPORTED, FALLBACK, UNANSWERED = 1, 2, 4, 8
"""The marks of a turn; their sum is one digit of base 16 in the index."""
_LETTERS: Final = {True: "y", False: "n", None: "-"}


def browser(
    topics: Sequence[ClaimTopic], runs: Sequence[dict[str, Any]], criteria: Criteria
) -> tuple[str, list[str]]:
    """Return the index and the parts of all debates, as JSON texts.

    Args:
        topics: The debates by claim.
        runs: The name and kind of each run, in the order of their numbers.
        criteria: What the verdicts and labels are on.
    """
    debates: list[list[object]] = []
    parts: list[str] = []
    part: list[str] = []
    for number, topic in enumerate(topics):
        for one in topic.conversations:
            record, marks = _record(one, criteria)
            debates.append([number, len(parts), one.id, one.runs, *_index(one, marks, criteria)])
            part.append(record)
        if sum(map(len, part)) > PART_LETTERS:
            parts.append(f"[{','.join(part)}]")
            part = []
    if part:
        parts.append(f"[{','.join(part)}]")
    index = {
        "runs": list(runs),
        "maxims": list(criteria.keys),
        "parts": len(parts),
        "claims": [topic.claim for topic in topics],
        "debates": debates,
    }
    return to_json(index), parts


def _record(one: Conversation, criteria: Criteria) -> tuple[str, list[int]]:
    """Return the JSON of a debate, and the marks of its turns."""
    turns, marks = [], []
    for place, turn in enumerate(one.turns):
        record: dict[str, Any] = {"user": turn.utterance}
        mark = FALLBACK if place in one.fallbacks else 0
        if turn.response is None:
            mark |= UNANSWERED
        else:
            answer = marked_answer(turn.response)
            record["answer"] = answer
            mark |= LONG if answer["words"] > LIMIT else 0
            if any(it["state"] == "unsupported" for it in answer["sentences"]):
                mark |= UNSUPPORTED
        judgements = [
            [run, *_verdicts(of_run[place], criteria)]
            for run, of_run in one.verdicts
            if of_run[place]
        ]
        if judgements:
            record["judged"] = judgements
        calls = [[run, calls] for run, at, calls in one.calls if at == place]
        if calls:
            record["calls"] = calls
        turns.append(record)
        marks.append(mark)
    return to_json(turns), marks


def _index(one: Conversation, marks: Sequence[int], criteria: Criteria) -> Iterator[Any]:
    """Yield the marks, hashes of the responses, judges, verdicts and labels of a debate."""
    yield "".join(f"{mark:x}" for mark in marks)
    yield "".join(map(_hash, one.turns))
    yield [run for run, _ in one.verdicts]
    yield "".join(_letters(verdicts, criteria) for _, of_run in one.verdicts for verdicts in of_run)
    yield "".join(
        _LETTERS[None if (label := labels.get(key)) is None else bool(label)]
        for labels in one.labels
        for key in criteria.keys
    )


def _hash(turn: Any) -> str:
    """Return five letters that differ where responses differ."""
    text = turn.response.content if turn.response else ""
    return f"{zlib.crc32(text.encode('utf-8', 'replace')) & 0xFFFFF:05x}"


def _letters(verdicts: Verdicts, criteria: Criteria) -> str:
    rows = (verdicts.get(key) for key in criteria.keys)
    return "".join(_LETTERS[None if one is None or one.score is None else one.yes] for one in rows)


def _verdicts(verdicts: Verdicts, criteria: Criteria) -> tuple[list[float | None], list[str]]:
    of_turn = [verdicts.get(key) for key in criteria.keys]
    return [one.score if one else None for one in of_turn], [
        one.rationale if one else "" for one in of_turn
    ]
