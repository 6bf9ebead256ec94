"""Counts that need no labels: lengths, repetitions and citations of a run's responses.

The task allows at most 60 words and shows annotators the texts of the first two arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median

from touche_rad import files
from touche_rad.debate import Debate, Response
from touche_rad.score.result import MARKS, Health
from touche_rad.text import count_words, words

LIMIT = 60
SHOWN = 2
"""Number of cited arguments that annotators saw."""


def health(path: Path, bad: files.BadLines | None = None) -> Health:
    """Count debates, turns and responses in simulations, responses or evaluations."""
    bad = bad or files.BadLines(skip=True)
    debates = turns = unanswered = 0
    lengths: list[int] = []
    marks = dict.fromkeys(MARKS, 0)
    for whole, views in files.read_views(path, bad):
        debates += 1
        turns += len(whole.turns)
        unanswered += sum(turn.response is None for turn in whole.turns)
        for view in views:
            response = view.turns[-1].response or Response(content="")
            lengths.append(count_words(response.content))
            for name, holds in _marks(view, response).items():
                marks[name] += holds
    return Health(
        debates=debates,
        lost_debates=bad.count,
        turns=turns,
        unanswered=unanswered,
        responses=len(lengths),
        words_median=median(lengths) if lengths else None,
        words_max=max(lengths, default=None),
        **marks,
    )


def _marks(view: Debate, response: Response) -> Mapping[str, bool]:
    ids = [argument.id for argument in response.arguments]
    text = words(response.content)
    return {
        "over_60_words": count_words(response.content) > LIMIT,
        "empty": not response.content.strip(),
        "repeated": bool(text)
        and any(words(earlier) == text for earlier in view.system_texts[:-1]),
        "without_citation": not ids,
        "over_2_citations": len(ids) > SHOWN,
        "duplicate_citations": len(set(ids)) < len(ids),
        "citations_without_text": any(not cited.text.strip() for cited in response.arguments),
    }
