"""`touche-rad train examples`: draw labelled turns as examples for prompts, as the paper does.

Each maxim has a set of its own, with as many yes as no. Each example names its debate and turn, so
that `touche-rad score --exclude` can leave it out.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from judges.grice.sinai.judge import EXAMPLES_FORMAT, LONGEST_TEXT, before, texts
from touche_rad import files
from touche_rad.criteria import grice
from touche_rad.debate import Debate
from touche_rad.errors import UserError
from touche_rad.text import clean

_MOST_WORDS: Final = 120
"""Maximum words of a message; longer ones make prompts too long."""


@dataclass(frozen=True)
class Labelled:
    """A debate up to one response, and the labels of that response."""

    view: Debate
    labels: Mapping[str, int | None]


def labelled(debates: Path, labels: Path) -> list[Labelled]:
    """Pair each response with its labels; both files have the same debates in the same order."""
    views = list(files.read_views(debates))
    rows = list(files.read_labels(labels))
    if len(views) != len(rows):
        raise UserError(f"{labels}: {len(rows)} debates, and {debates} has {len(views)}")
    pairs = []
    for number, ((_, turns), row) in enumerate(zip(views, rows, strict=True), 1):
        if len(turns) != len(row):
            problem = f"{len(row)} turns, and the debate in {debates} has {len(turns)}"
            raise UserError(f"{labels}:{number}: {problem}")
        pairs += [Labelled(*pair) for pair in zip(turns, row, strict=True)]
    return pairs


def train_examples(
    debates: Path, labels: Path, out: Path, *, count: int = 10, seed: int = 0
) -> Mapping[str, Any]:
    """Draw examples, write them to a file, and return their numbers."""
    candidates = [
        turn
        for turn in labelled(debates, labels)
        if len(clean(turn.view.last.utterance).split()) <= _MOST_WORDS
    ]
    rng = random.Random(seed)
    keys: dict[int, set[str]] = {}
    """The criteria of which each candidate that was drawn is an example."""
    numbers: dict[str, dict[str, int]] = {}
    for key in grice().keys:
        numbers[key] = {}
        for label, value in (("yes", 1), ("no", 0)):
            fitting = [at for at, turn in enumerate(candidates) if turn.labels.get(key) == value]
            # Examples of other criteria are drawn only if there are too few others.
            new = [at for at in fitting if at not in keys]
            used = [at for at in fitting if at in keys]
            sample = rng.sample(new, min(count, len(new)))
            sample += rng.sample(used, min(count - len(sample), len(used)))
            numbers[key][label] = len(sample)
            for at in sample:
                keys.setdefault(at, set()).add(key)
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
                "arguments": texts(response.arguments, 0),
                # Of the criteria that it was drawn for; other verdicts on it are not shown.
                "labels": {
                    key: "yes" if verdicts[key] else "no"
                    for key in grice().keys
                    if key in of_example
                },
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return {"examples": len(keys), "of": len(candidates), "by maxim": numbers}
