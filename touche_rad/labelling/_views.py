"""What the page shows of a turn, as JSON data."""

from __future__ import annotations

from typing import Any

from touche_rad.criteria import Criterion
from touche_rad.labelling.exchanges import TurnPlace
from touche_rad.labelling.session import LabelSession
from touche_rad.pages.marks import mark, shown_verdicts
from touche_rad.text import count_words, sentences


def turn_record(session: LabelSession, place: TurnPlace, *, settle: bool) -> dict[str, Any]:
    """Return a turn with the annotator's answers.

    Verdicts are hidden until it is labelled, and the answers of other annotators until they are to
    be settled, because they would influence the annotator; and so are the ids of several runs.
    """
    view = session.exchanges.views[place]
    sees = session.criteria.sees
    unit = session.criteria.unit
    earlier = view.turns if unit == "debate" else view.turns[:-1]
    text = view.last.utterance if unit == "user" else ""
    cited: list[str] = []
    unshown = 0
    if unit == "response" and view.last.response:
        text = view.last.response.content
        arguments = view.last.response.arguments
        cited = [argument.text for argument in arguments[: sees.arguments]]
        unshown = len(arguments) - len(cited)
    texts = sentences(text)
    compared = [(number, sentence, 1) for number, sentence in enumerate(texts, 1)]
    record = {
        **place._asdict(),
        "id": "" if session.exchanges.is_pooled else view.id,
        "motion": view.thesis if sees.motion else None,
        "earlier": [
            {"user": turn.utterance, "system": turn.response.content if turn.response else None}
            for turn in earlier
            if sees.conversation or unit == "debate"
        ],
        "user": view.last.utterance if unit == "response" else None,
        "sentences": texts,
        "words": count_words(text),
        "arguments": [mark(text, compared) for text in cited],
        "unshown": unshown,
        **answers_record(session, place),
    }
    if settle:
        record["others"] = [
            {"name": name, "answers": answers}
            for name, answers in session.study.answers_on(place).items()
        ]
        record["differ"] = [key for turn, key in session.study.disagreements() if turn == place]
    return record


def question_record(criterion: Criterion) -> dict[str, Any]:
    """Return a question with its possible answers, each with its place, which is the label."""
    kind = criterion.answers.kind
    answers = []
    for place, choice in enumerate(criterion.answers.values):
        text = str(choice.value).capitalize() if kind == "yes-no" else str(choice.value)
        answers.append({"label": place, "text": text, "about": choice.text})
    if kind == "yes-no":
        answers.reverse()
    shots = [f"For example, {shot.answer}: {shot.text}" for shot in criterion.examples]
    rubric = (criterion.question, criterion.text, criterion.notes, *shots)
    return {
        "key": criterion.key,
        "title": criterion.title,
        "asks": criterion.reminder,
        "kind": kind,
        "answers": answers,
        "rubric": " ".join(filter(None, rubric)),
    }


def answers_record(session: LabelSession, place: TurnPlace) -> dict[str, Any]:
    """Return the annotator's answers on a turn, and what they reveal."""
    study = session.study
    is_complete = study.is_complete(session.annotator, place)
    judges = []
    for name, of_judge in session.judges.items():
        rows = shown_verdicts(session.criteria, of_judge.get(place, {}))
        if rows:
            judges.append({"judge": name, "verdicts": rows})
    return {
        "answers": study.answers[session.annotator].get(place, {}),
        "settled": study.settled[place],
        "complete": is_complete,
        "verdicts": judges if is_complete else None,
    }


def state_record(session: LabelSession) -> dict[str, Any]:
    """Return the progress of labelling and settling."""
    study = session.study
    return {
        "done": session.done(),
        "total": len(session.queue),
        "can_undo": session.last() is not None,
        "annotators": study.annotators,
        "disagreements": len(study.disagreements()),
        "unsettled": len(study.open_disagreements()),
    }
