"""The data of the debates in a report: an index to filter by, and parts that are loaded on demand.

The index has the claims, the debates, and for each turn its marks and every verdict as one letter.
Texts and rationales are in the parts. All of it is JSON; the script of the page makes elements and
text nodes of it, never markup.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from touche_rad.criteria import Criteria
from touche_rad.debate import Turn, Verdict
from touche_rad.pages import marked_answer, to_json
from touche_rad.score.conversations import ClaimTopic, Conversation

WORD_LIMIT: Final = 60
PART_LETTERS: Final = 250_000
"""Letters of JSON after which a new part begins."""
# The marks of a turn: their sum is one digit of base 16 in the index.
LONG: Final = 1
UNSUPPORTED: Final = 2
FALLBACK: Final = 4
UNANSWERED: Final = 8
_LETTERS: Final[Mapping[int | None, str]] = {True: "y", False: "n", None: "-"}


def debates_as_json(
    topics: Sequence[ClaimTopic], runs: Sequence[dict[str, Any]], criteria: Criteria
) -> tuple[str, list[str]]:
    """Return the index and the parts of all debates, as JSON texts.

    Args:
        topics: The debates by claim.
        runs: The name and kind of each run, in the order of their numbers.
        criteria: What the verdicts and labels are on.
    """
    debates: list[list[object]] = []
    parts: list[list[str]] = [[]]
    for number, topic in enumerate(topics):
        for conversation in topic.conversations:
            turns, marks = _turns(conversation, criteria)
            verdicts: list[str] = []
            for _, verdicts_of_run in conversation.verdicts:
                for of_turn in verdicts_of_run:
                    verdicts += [_letter(of_turn.get(key)) for key in criteria.keys]
            labels: list[str] = []
            for labels_of_turn in conversation.labels:
                labels += [_LETTERS.get(labels_of_turn.get(key), "-") for key in criteria.keys]
            # The script of the page reads these columns by their order.
            debates.append(
                [
                    number,
                    len(parts) - 1,
                    conversation.id,
                    conversation.runs,
                    "".join(f"{mark:x}" for mark in marks),
                    "".join(map(_hash, conversation.turns)),
                    [run for run, _ in conversation.verdicts],
                    "".join(verdicts),
                    "".join(labels),
                ]
            )
            parts[-1].append(to_json(turns))
        # A claim is never cut: its debates are compared with each other.
        if sum(map(len, parts[-1])) > PART_LETTERS:
            parts.append([])
    texts = [f"[{','.join(part)}]" for part in parts if part]
    index = {
        "runs": list(runs),
        "maxims": list(criteria.keys),
        "parts": len(texts),
        "claims": [topic.claim for topic in topics],
        "debates": debates,
    }
    return to_json(index), texts


def _turns(
    conversation: Conversation, criteria: Criteria
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the turns of a debate as JSON values, and their marks."""
    turns = []
    marks = []
    for place, turn in enumerate(conversation.turns):
        record: dict[str, Any] = {"user": turn.utterance}
        mark = FALLBACK if place in conversation.fallbacks else 0
        if turn.response is None:
            mark |= UNANSWERED
        else:
            answer = marked_answer(turn.response)
            record["answer"] = answer
            if answer["words"] > WORD_LIMIT:
                mark |= LONG
            if any(sentence["state"] == "unsupported" for sentence in answer["sentences"]):
                mark |= UNSUPPORTED
        judged = []
        for run, verdicts_of_run in conversation.verdicts:
            if verdicts_of_run[place]:
                verdicts = [verdicts_of_run[place].get(key) for key in criteria.keys]
                scores = [verdict.score if verdict else None for verdict in verdicts]
                rationales = [verdict.rationale if verdict else "" for verdict in verdicts]
                judged.append([run, scores, rationales])
        if judged:
            record["judged"] = judged
        calls_by_run = [[run, calls] for run, at, calls in conversation.calls if at == place]
        if calls_by_run:
            record["calls"] = calls_by_run
        turns.append(record)
        marks.append(mark)
    return turns, marks


def _hash(turn: Turn) -> str:
    """Return five hexadecimal digits, which hardly ever agree where responses differ."""
    text = turn.response.content if turn.response else ""
    return f"{zlib.crc32(text.encode('utf-8', 'replace')) & 0xFFFFF:05x}"


def _letter(verdict: Verdict | None) -> str:
    """Return a verdict as one letter: yes, no, or none."""
    return _LETTERS[None if verdict is None or verdict.score is None else verdict.yes]
