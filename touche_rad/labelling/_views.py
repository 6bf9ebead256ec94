"""What the page shows of a turn, as JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from touche_rad.labelling.exchanges import TurnPlace
from touche_rad.labelling.session import LabelSession
from touche_rad.pages.marks import mark
from touche_rad.text import count_words, sentences

MOST_ARGUMENTS: Final = 2
"""Cited arguments that the task's annotators saw."""


def turn_record(session: LabelSession, place: TurnPlace, *, settle: bool = False) -> dict[str, Any]:
    """Return a turn with the annotator's answers.

    Verdicts and the reason why the turn is in the queue are hidden until it is labelled, and the
    answers of other annotators until they are to be settled, because they would influence the
    annotator.
    """
    view = session.exchanges.views[place]
    response = view.last.response
    assert response is not None
    texts = sentences(response.content)
    cited = [argument.text for argument in response.arguments[:MOST_ARGUMENTS]]
    record = {
        **place._asdict(),
        "id": view.id,
        "earlier": [
            {"user": turn.utterance, "system": turn.response.content if turn.response else None}
            for turn in view.turns[:-1]
        ],
        "user": view.last.utterance,
        "sentences": texts,
        "words": count_words(response.content),
        "arguments": [mark(text, list(enumerate(texts, 1))) for text in cited],
        "unshown": len(response.arguments) - len(cited),
        **answers_record(session, place),
    }
    if settle:
        study = session.study
        record["others"] = [
            {"name": name, "answers": answers} for name, answers in study.answers_on(place).items()
        ]
        record["differ"] = [key for key in study.criteria.keys if study.differ(place, key)]
    return record


def answers_record(session: LabelSession, place: TurnPlace) -> dict[str, Any]:
    """Return the annotator's answers on a turn, and what they reveal."""
    study = session.study
    is_complete = study.is_complete(session.annotator, place)
    judges = []
    for name, of_judge in session.judges.items():
        verdicts = [
            {
                "maxim": key,
                "score": verdict.score,
                "yes": verdict.yes,
                "rationale": verdict.rationale,
            }
            for key, verdict in of_judge.get(place, {}).items()
        ]
        if verdicts:
            judges.append({"judge": name, "verdicts": verdicts})
    return {
        "answers": study.answers[session.annotator].get(place, {}),
        "settled": study.settled.get(place, {}),
        "complete": is_complete,
        "sample": study.samples.get(place) if is_complete else None,
        "verdicts": judges if is_complete else None,
    }


def state_record(session: LabelSession, places: Sequence[TurnPlace]) -> dict[str, Any]:
    """Return the progress, and for each turn of a queue how many answers it has."""
    study = session.study
    answers = study.answers[session.annotator]
    return {
        "done": session.done(),
        "total": len(session.queue),
        "counts": [len(answers.get(place, ())) for place in places],
        "can_undo": session.can_undo,
        "annotators": study.annotators,
        "disagreements": len(study.disagreements()),
        "unsettled": len(study.open_disagreements()),
    }
