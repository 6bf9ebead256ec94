"""`touche-rad train examples`: draw labelled turns as examples for prompts, as the paper does.

Each maxim has a set of its own, or all have a common one, with as many yes as no. Each example
names its debate and turn, so that `touche-rad score --exclude` can leave it out.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from judges.grice.sinai.judge import ALL, EXAMPLES_FORMAT, LONGEST_TEXT, before, texts
from touche_rad import files
from touche_rad.criteria import grice
from touche_rad.debate import Debate
from touche_rad.text import clean

_MOST_WORDS: Final = 120
"""Maximum words of a message; longer ones make prompts too long."""


@dataclass(frozen=True)
class LabelledTurn:
    """A debate up to one response, and the labels of that response."""

    view: Debate
    labels: Mapping[str, int | None]


def train_examples(
    debates: Path, labels: Path, out: Path, *, count: int = 10, seed: int = 0, common: bool = False
) -> Mapping[str, Any]:
    """Draw examples, write them to a file, and return their numbers."""
    candidates = []
    for debate, turns in files.read_labelled(debates, labels):
        for number, labels_of_turn in enumerate(turns):
            turn = debate.turns[number]
            if turn.response and len(clean(turn.utterance).split()) <= _MOST_WORDS:
                candidates.append(LabelledTurn(debate.view(number), labels_of_turn))
    rng = random.Random(seed)
    keys = _draw_common(candidates, count, rng) if common else _draw(candidates, count, rng)
    numbers = {}
    for key in grice().keys:
        drawn = [candidates[at].labels[key] for at, of_example in keys.items() if key in of_example]
        numbers[key] = {"yes": drawn.count(1), "no": drawn.count(0)}
    with files.atomic_write(out) as stream:
        for at, of_example in keys.items():
            view = candidates[at].view
            verdicts = candidates[at].labels
            response = view.last.response
            assert response is not None
            record = {
                "format": EXAMPLES_FORMAT,
                "debate": view.key,
                "turn": len(view.turns),
                "before": before(view)[:-1],
                "user": clean(view.last.utterance)[:LONGEST_TEXT],
                "system": clean(response.content)[:LONGEST_TEXT],
                "arguments": texts(response.arguments, ALL),
                # Of the criteria that it was drawn for; other verdicts on it are not shown.
                "labels": {
                    key: "yes" if verdicts[key] else "no"
                    for key in grice().keys
                    if key in of_example
                },
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return {"examples": len(keys), "of": len(candidates), "by maxim": numbers}


def _draw(
    candidates: Sequence[LabelledTurn], count: int, rng: random.Random
) -> Mapping[int, Collection[str]]:
    """Draw a set for each criterion: the criteria of which each candidate is an example."""
    keys: dict[int, set[str]] = {}
    for key in grice().keys:
        for value in (1, 0):
            fitting = [at for at, turn in enumerate(candidates) if turn.labels.get(key) == value]
            # Examples of other criteria are drawn only if there are too few others.
            new = [at for at in fitting if at not in keys]
            used = [at for at in fitting if at in keys]
            sample = rng.sample(new, min(count, len(new)))
            sample += rng.sample(used, min(count - len(sample), len(used)))
            for at in sample:
                keys.setdefault(at, set()).add(key)
    return keys


def _draw_common(
    candidates: Sequence[LabelledTurn], count: int, rng: random.Random
) -> Mapping[int, Collection[str]]:
    """Draw one set for all criteria, with about as many yes as no on each."""
    keys = grice().keys
    known = []
    for at, turn in enumerate(candidates):
        if None not in map(turn.labels.get, keys):
            known.append(at)
    rng.shuffle(known)
    surplus = Counter[str]()
    """How many more examples are yes than no."""
    drawn: dict[int, Collection[str]] = {}
    while known and len(drawn) < 2 * count:

        def imbalance(at: int) -> int:
            labels = candidates[at].labels
            return sum((surplus[key] + (1 if labels[key] else -1)) ** 2 for key in keys)

        best = min(known, key=imbalance)
        known.remove(best)
        drawn[best] = keys
        for key in keys:
            surplus[key] += 1 if candidates[best].labels[key] else -1
    return drawn
