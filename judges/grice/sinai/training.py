"""`touche-rad train examples`: draw labelled turns as examples for prompts, as the paper does.

Each maxim has a set of its own, or all have a common one, with as many yes as no. Each example
names its debate and turn, so that `touche-rad score --exclude` can leave it out.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from judges.grice.sinai.judge import ALL, EXAMPLES_FORMAT, LONGEST_TEXT, before, texts
from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.debate import Debate
from touche_rad.errors import UserError
from touche_rad.files.criteria import criteria_of
from touche_rad.frozen import frozen
from touche_rad.text import clean

_SIGNS: Final = {"yes": 1, "no": -1}
_MOST_WORDS: Final = 120
"""Maximum words of a message; longer ones make prompts too long."""


@frozen
class LabelledTurn:
    """A debate up to one response or other unit, and the answers of its labels."""

    view: Debate
    labels: Mapping[str, str]


def train_examples(
    debates: Path,
    labels: Path,
    out: Path,
    *,
    count: int = 10,
    seed: int = 0,
    common: bool = False,
    criteria: Criteria | None = None,
) -> Mapping[str, Any]:
    """Draw examples, write them to a file, and return their numbers."""
    criteria = criteria_of(criteria, labels)
    unit = criteria.unit
    candidates = []
    for debate, rows, _ in files.read_labelled(debates, labels, criteria):
        for number, row in enumerate(rows):
            view = debate if unit == "debate" else debate.view(number)
            is_short = len(clean(view.last.utterance).split()) <= _MOST_WORDS
            if is_short and (view.last.response or unit != "response"):
                answers = {}
                for criterion in criteria:
                    place = row.get(criterion.key)
                    if place is not None:
                        answers[criterion.key] = criterion.answers.names[place]
                candidates.append(LabelledTurn(view, answers))
    rng = random.Random(seed)
    draw = _draw_common if common else _draw
    keys = draw(candidates, criteria, count, rng)
    numbers = {}
    for criterion in criteria:
        key = criterion.key
        drawn = [candidates[at].labels[key] for at, of_example in keys.items() if key in of_example]
        numbers[key] = {name: drawn.count(name) for name in reversed(criterion.answers.names)}
    with files.atomic_write(out) as stream:
        for at, of_example in keys.items():
            view = candidates[at].view
            verdicts = candidates[at].labels
            response = None if unit == "user" else view.last.response
            record = {
                "format": EXAMPLES_FORMAT,
                "debate": view.key,
                "turn": len(view.turns),
                "before": before(view)[:-1],
                "user": clean(view.last.utterance)[:LONGEST_TEXT],
                "system": clean(response.content)[:LONGEST_TEXT] if response else "",
                "arguments": texts(response.arguments, ALL) if response else [],
                # Of the criteria that it was drawn for; other verdicts on it are not shown.
                "labels": {key: verdicts[key] for key in criteria.keys if key in of_example},
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return {"examples": len(keys), "of": len(candidates), "by maxim": numbers}


def _draw(
    candidates: Sequence[LabelledTurn], criteria: Criteria, count: int, rng: random.Random
) -> Mapping[int, Collection[str]]:
    """Draw a set for each criterion: the criteria of which each candidate is an example."""
    keys: dict[int, set[str]] = {}
    for criterion in criteria:
        for name in reversed(criterion.answers.names):
            fitting = [
                at for at, turn in enumerate(candidates) if turn.labels.get(criterion.key) == name
            ]
            # Examples of other criteria are drawn only if there are too few others.
            new = [at for at in fitting if at not in keys]
            used = [at for at in fitting if at in keys]
            sample = rng.sample(new, min(count, len(new)))
            sample += rng.sample(used, min(count - len(sample), len(used)))
            for at in sample:
                keys.setdefault(at, set()).add(criterion.key)
    return keys


def _draw_common(
    candidates: Sequence[LabelledTurn], criteria: Criteria, count: int, rng: random.Random
) -> Mapping[int, Collection[str]]:
    """Draw one set for all criteria, with about as many yes as no on each."""
    keys = criteria.keys
    if any(criterion.answers.kind != "yes-no" for criterion in criteria):
        raise UserError("--common is for criteria whose questions all have yes and no as answers")
    known = [at for at, turn in enumerate(candidates) if None not in map(turn.labels.get, keys)]
    rng.shuffle(known)
    surplus: Counter[str] = Counter()
    """How many more examples are yes than no."""
    drawn: dict[int, Collection[str]] = {}
    while known and len(drawn) < 2 * count:

        def imbalance(at: int) -> int:
            labels = candidates[at].labels
            return sum((surplus[key] + _SIGNS[labels[key]]) ** 2 for key in keys)

        best = min(known, key=imbalance)
        known.remove(best)
        drawn[best] = keys
        for key in keys:
            surplus[key] += _SIGNS[candidates[best].labels[key]]
    return drawn
