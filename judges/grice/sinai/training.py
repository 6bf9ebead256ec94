"""`touche-rad train examples`: select labelled turns as examples for prompts.

Each maxim has a set of its own, with as many yes as no. `random` draws them, as the paper does.
`hard` selects the turn with the largest sum of a model-free judge's error (disagreement) and the
distance of its words to the examples selected before (diversity). Each example names its debate and
turn, so that `touche-rad score --exclude` can leave it out.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from judges.grice.sinai.judge import EXAMPLES_FORMAT, LONGEST, before, texts
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
    for number, ((_, turns), row) in enumerate(zip(views, rows, strict=True), 1):
        if len(turns) != len(row):
            size = f"{len(row)} turns, and the debate in {debates} has {len(turns)}"
            raise UserError(f"{labels}:{number}: {size}")
        pairs += [Labelled(*pair) for pair in zip(turns, row, strict=True)]
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
    count: int = 10,
    seed: int = 0,
    select: Literal["random", "hard"] = "random",
    rules: str = "grounded",
) -> Mapping[str, Any]:
    """Select examples, write them to a file, and return their numbers."""
    free: Any = find("judge", rules).make(Services(seed=seed)) if select == "hard" else None
    candidates = [
        _candidate(turn, free)
        for turn in labelled(debates, labels)
        if len(clean(turn.view.last.utterance).split()) <= _MOST_WORDS
    ]
    rng = random.Random(seed)
    selected: dict[int, _Candidate] = {}
    maxims: dict[int, set[Maxim]] = defaultdict(set)
    numbers: dict[str, dict[str, int]] = {}
    for maxim in Maxim:
        numbers[maxim.value] = {}
        for label, value in (("yes", 1), ("no", 0)):
            fitting = [one for one in candidates if one.turn.labels.get(maxim) == value]
            others = list(selected.values())
            if select == "random":
                picked = _draw(fitting, others, count, rng)
            else:
                picked = _select(fitting, maxim, others, count)
            numbers[maxim.value][label] = len(picked)
            selected |= {id(one): one for one in picked}
            for one in picked:
                maxims[id(one)] |= {maxim} if select == "random" else set(Maxim)
    with files.atomic_write(out) as stream:
        for key, one in selected.items():
            stream.write(json.dumps(_example(one.turn, maxims[key]), ensure_ascii=False) + "\n")
    return {"examples": len(selected), "of": len(candidates), "by maxim": numbers}


def _candidate(turn: Labelled, free: Any | None) -> _Candidate:
    verdicts = free.judge(turn.view) if free is not None else {}
    wrong = {
        maxim: abs(float(verdict.score or 0.0) - label)
        for maxim, verdict in verdicts.items()
        if (label := turn.labels.get(maxim)) is not None
    }
    response = turn.view.last.response
    assert response is not None
    said = f"{turn.view.last.utterance} {response.content}"
    return _Candidate(turn, frozenset(content_words(said)), wrong)


def _draw(
    fitting: Sequence[_Candidate], others: Sequence[_Candidate], count: int, rng: random.Random
) -> list[_Candidate]:
    """Draw examples; those of other maxims only if there are too few others."""
    new = [one for one in fitting if one not in others]
    drawn = rng.sample(new, min(count, len(new)))
    used = [one for one in fitting if one in others]
    return [*drawn, *rng.sample(used, min(count - len(drawn), len(used)))]


def _select(
    fitting: Sequence[_Candidate], maxim: Maxim, others: Sequence[_Candidate], count: int
) -> list[_Candidate]:
    """Select examples; first those that were selected for another maxim."""
    picked = [one for one in others if one in fitting][:count]
    left = [one for one in fitting if one not in picked]
    while left and len(picked) < count:
        best = max(left, key=lambda one: one.wrong[maxim] + _distance(one, [*others, *picked]))
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


def _example(turn: Labelled, maxims: Collection[Maxim]) -> dict[str, Any]:
    """Return the record of an example, with its labels on the maxims that it is an example of."""
    response = turn.view.last.response
    assert response is not None
    return {
        "format": EXAMPLES_FORMAT,
        "debate": turn.view.key,
        "turn": len(turn.view.turns),
        "before": before(turn.view)[:-1],
        "user": clean(turn.view.last.utterance)[:LONGEST],
        "system": clean(response.content)[:LONGEST],
        "arguments": texts(response.arguments, 0),
        "labels": {
            maxim.value: "yes" if label else "no"
            for maxim in Maxim
            if maxim in maxims and (label := turn.labels.get(maxim)) is not None
        },
    }
