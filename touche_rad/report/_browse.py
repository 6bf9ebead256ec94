"""The data of the debates in a report: an index to filter by, and parts that are loaded on demand.

The index has the claims, the debates, and for each turn its marks and every verdict as one letter.
Texts and rationales are in the parts. All of it is JSON; the script of the page makes elements and
text nodes of it, never markup.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from touche_rad.criteria import Criteria, Criterion
from touche_rad.debate import NOTHING_FOUND, Turn
from touche_rad.pages import marked_answer, to_json
from touche_rad.score.confusion import place_of_verdict
from touche_rad.score.conversations import ClaimTopic, Conversation

WORD_LIMIT: Final = 60
PART_LETTERS: Final = 250_000
"""Letters of JSON after which a new part begins."""
# The marks of a turn: their sum is one character in the index, "0" for none.
LONG: Final = 1
UNSUPPORTED: Final = 2
FALLBACK: Final = 4
UNANSWERED: Final = 8
NOTHING: Final = 16
_RESPONSES: Final = [
    ("long", "over 60 words"),
    ("unsupported", "a sentence without a source"),
    ("unanswered", "no response"),
    ("nothing", "no argument found"),
    ("fallback", "a fallback answered"),
]
_LACKS: Final = [("none", "no verdict"), ("fallback", "a fallback")]
_DIFFERENCES: Final = [
    ("1", "where the runs differ"),
    ("verdicts", "where the verdicts differ"),
]


def debates_as_json(
    topics: Sequence[ClaimTopic],
    runs: Sequence[str],
    order: Sequence[int],
    criteria: Criteria,
    is_one_judge: bool,
) -> tuple[str, list[str]]:
    """Return the index and the parts of all debates, as JSON texts.

    Args:
        topics: The debates by claim.
        runs: The names of the runs, in the order of their numbers.
        order: Their numbers in the order in which they are shown, which is that of the ranking.
        criteria: What the verdicts and labels are on.
        is_one_judge: Whether one judge gave all verdicts, so that runs on equal debates agree.
    """
    debates: list[list[object]] = []
    parts: list[list[str]] = [[]]
    for number, topic in enumerate(topics):
        for conversation in topic.conversations:
            turns, marks = _turns(conversation, criteria)
            # The turns that are missing, which the ranking counts as no.
            marks += [UNANSWERED] * (max(conversation.places, default=-1) + 1 - len(turns))
            verdicts = [
                (criterion, of_turn.get(criterion.key))
                for of_turn in chain.from_iterable(conversation.verdicts.values())
                for criterion in criteria
            ]
            labels = [
                _letter(criterion, labels_of_turn.get(criterion.key))
                for labels_of_turn in conversation.labels
                for criterion in criteria
            ]
            # The script of the page reads these columns by their order.
            debates.append(
                [
                    number,
                    len(parts) - 1,
                    conversation.id,
                    list(conversation.runs),
                    "".join(chr(ord("0") + mark) for mark in marks),
                    "".join(map(_hash, conversation.turns)),
                    list(conversation.verdicts),
                    "".join(
                        _letter(criterion, place_of_verdict(criterion, verdict))
                        for criterion, verdict in verdicts
                    ),
                    "".join(labels),
                    len(parts[-1]),
                    [
                        place
                        for place, (_, verdict) in enumerate(verdicts)
                        if verdict and verdict.fallback
                    ],
                ]
            )
            parts[-1].append(to_json(turns))
        # A claim is never cut: its debates are compared with each other.
        if sum(map(len, parts[-1])) > PART_LETTERS:
            parts.append([])
    texts = [f"[{','.join(part)}]" for part in parts if part]
    index = {
        "runs": runs,
        "order": order,
        "criteria": [_about(criterion) for criterion in criteria],
        "unit": criteria.unit,
        "parts": len(texts),
        "claims": [f"{topic.line}. {topic.claim}" for topic in topics],
        **_filters(debates, runs, criteria, is_one_judge),
        "debates": debates,
    }
    return to_json(index), texts


def _filters(
    debates: Sequence[Sequence[Any]], runs: Sequence[str], criteria: Criteria, is_one_judge: bool
) -> dict[str, Any]:
    """Return the filters of the page, with the values of each, and what is red in its strips."""
    names = dict.fromkeys(name for criterion in criteria for name in criterion.answers.names)
    answers = [(name, name) for name in names]
    red = "verdicts of no"
    filters: list[tuple[str, str, list[tuple[str, str]]]] = []
    if len(runs) > 1:
        # Runs without a debate, such as those that cannot be scored, would show nothing.
        with_debates = {run for debate in debates for run in debate[3]}
        shown = [(run, run) for at, run in enumerate(runs) if at in with_debates]
        filters = [("run", "Run", shown), ("differ", "Turns", _DIFFERENCES)]
    if any(debate[6] for debate in debates):  # judged
        filters += [
            ("maxim", "Criterion", [(criterion.key, criterion.title) for criterion in criteria]),
            ("verdict", "Verdict", [*answers, *_LACKS]),
        ]
    if not is_one_judge and any(len(debate[6]) > 1 for debate in debates):
        red = "judges against the majority, doubled"
        filters.append(("disagree", "Judges", [("1", "disagree")]))
    if any(debate[8] for debate in debates):  # labelled
        red = "judges against the label"
        filters.append(("label", "Label", [*answers, ("differs", "differs from the verdict")]))
    filters.append(("mark", "Response", _RESPONSES))
    return {"filters": filters, "red": red}


def _turns(
    conversation: Conversation, criteria: Criteria
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the turns of a debate as JSON values, and their marks."""
    turns = []
    marks = []
    for place, turn in enumerate(conversation.turns):
        record: dict[str, Any] = {"user": turn.utterance}
        mark = FALLBACK if place in conversation.fallbacks else 0
        if turn.response:
            user = [earlier.utterance for earlier in conversation.turns[: place + 1]]
            answer = marked_answer(turn.response, user)
            record["answer"] = answer
            if answer["words"] > WORD_LIMIT:
                mark |= LONG
            if any(sentence["state"] == "unsupported" for sentence in answer["sentences"]):
                mark |= UNSUPPORTED
            if turn.answer == NOTHING_FOUND:
                mark |= NOTHING
        else:
            mark |= UNANSWERED
        judged = []
        for run, verdicts_of_run in conversation.verdicts.items():
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
    return f"{zlib.crc32(turn.answer.encode('utf-8', 'replace')) & 0xFFFFF:05x}"


def _about(criterion: Criterion) -> tuple[str, str, tuple[str, ...]]:
    """Return the key, the title and the answers of a criterion; yes and no are not listed."""
    answers = criterion.answers
    return criterion.key, criterion.title, answers.names if answers.kind != "yes-no" else ()


def _letter(criterion: Criterion, place: int | None) -> str:
    """Return an answer as one letter: y, n, - for none, or A, B, ... of other answers."""
    if place is None:
        return "-"
    return "ny"[place] if criterion.answers.kind == "yes-no" else chr(ord("A") + place)
