"""`touche-rad train examples`: select labelled turns as examples for prompts.

For each maxim, as many yes as no are selected (balance). The next example is always the turn with
the largest sum of a model-free judge's error (disagreement) and the distance of its words to the
examples selected before (diversity). Each example names its debate and turn, so that
`touche-rad score --exclude` can leave it out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from judges.grice.sinai.judge import EXAMPLES_FORMAT, SHOWN, texts
from touche_rad import files
from touche_rad.debate import Debate, Maxim
from touche_rad.errors import UserError
from touche_rad.plugins import Services, find
from touche_rad.text import clean, content_words

_MOST_WORDS: Final = 120
"""Maximum words of a message; longer ones make prompts too long."""


@dataclass(frozen=True)
class Labelled:
    """A debate up to one response, and the labels of that response."""

    view: Debate
    labels: Mapping[Maxim, int | None]


def labelled(debates: Path, labels: Path) -> list[Labelled]:
    """Pair each response with its labels; both files have the same debates in the same order."""
    views, rows = list(files.read_views(debates)), list(files.read_labels(labels))
    if len(views) != len(rows):
        raise UserError(f"{labels}: {len(rows)} debates, and {debates} has {len(views)}")
    pairs = []
    for number, ((_, of_debate), of_labels) in enumerate(zip(views, rows, strict=True)):
        if len(of_debate) != len(of_labels):
            raise UserError(
                f"{labels}:{number + 1}: {len(of_labels)} turns, and the debate in {debates} has "
                f"{len(of_debate)}"
            )
        pairs += [Labelled(*pair) for pair in zip(of_debate, of_labels, strict=True)]
    return pairs


@dataclass(frozen=True)
class _Candidate:
    turn: Labelled
    words: frozenset[str]
    wrong: Mapping[Maxim, float]


def train_examples(
    debates: Path,
    labels: Path,
    out: Path,
    *,
    count: int = 5,
    seed: int = 0,
    rules: str = "grounded",
) -> Mapping[str, Any]:
    """Select examples, write them to a file, and return their numbers."""
    free: Any = find("judge", rules).make(Services(seed=seed))
    candidates = [
        _candidate(turn, free)
        for turn in labelled(debates, labels)
        if len(clean(turn.view.last.utterance).split()) <= _MOST_WORDS
    ]
    selected: dict[int, _Candidate] = {}
    numbers: dict[str, dict[str, int]] = {}
    for maxim in Maxim:
        numbers[maxim.value] = {}
        for label, value in (("yes", 1), ("no", 0)):
            fitting = [one for one in candidates if one.turn.labels.get(maxim) == value]
            picked = _select(fitting, maxim, list(selected.values()), count)
            numbers[maxim.value][label] = len(picked)
            selected |= {id(one): one for one in picked}
    with files.atomic_write(out) as stream:
        for one in selected.values():
            stream.write(json.dumps(_example(one.turn), ensure_ascii=False) + "\n")
    return {"examples": len(selected), "of": len(candidates), "by maxim": numbers}


def _candidate(turn: Labelled, free: Any) -> _Candidate:
    verdicts = free.judge(turn.view)
    wrong = {
        maxim: abs(float(verdicts[maxim].score or 0.0) - label)
        for maxim in Maxim
        if (label := turn.labels.get(maxim)) is not None
    }
    response = turn.view.last.response
    assert response is not None
    said = f"{turn.view.last.utterance} {response.content}"
    return _Candidate(turn, frozenset(content_words(said)), wrong)


def _select(
    fitting: Sequence[_Candidate], maxim: Maxim, before: Sequence[_Candidate], count: int
) -> list[_Candidate]:
    """Select examples; first those that were selected for another maxim."""
    picked = [one for one in before if one in fitting][:count]
    left = [one for one in fitting if one not in picked]
    while left and len(picked) < count:
        best = max(left, key=lambda one: one.wrong[maxim] + _distance(one, [*before, *picked]))
        picked.append(best)
        left.remove(best)
    return picked


def _distance(one: _Candidate, others: Sequence[_Candidate]) -> float:
    """Return the distance of a turn's words to the nearest other turn."""
    return min(
        (
            1 - len(one.words & other.words) / (len(one.words | other.words) or 1)
            for other in others
        ),
        default=1.0,
    )


def _example(turn: Labelled) -> dict[str, Any]:
    response = turn.view.last.response
    assert response is not None
    return {
        "format": EXAMPLES_FORMAT,
        "debate": turn.view.key,
        "turn": len(turn.view.turns),
        "user": clean(turn.view.last.utterance),
        "system": clean(response.content),
        "arguments": texts(response.arguments, SHOWN),
        "labels": {
            maxim.value: "yes" if label else "no"
            for maxim in Maxim
            if (label := turn.labels.get(maxim)) is not None
        },
    }
