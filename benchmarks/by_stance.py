"""What stance backends do for the chained hybrid, and what they know of two opposed claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blind import answerers, by_turns
from stance_quality import HEAD, decided, row

from retrieval.index.store import digest
from retrieval.pipelines import Made, by_stance
from retrieval.stance.backend import backend
from retrieval.stance.trained import report_of
from retrieval.stance.training import usable
from retrieval.tasks import Topic, split_of
from touche_rad.debate import Argument

TRAINED = "trained:"


def reranked(
    names: Sequence[str], arguments: Sequence[Argument], found: Sequence[Topic]
) -> dict[str, Made]:
    """The chained hybrid by each backend; of trained ones each query by one that is blind to it."""
    made = {}
    for name in names:
        if name.startswith(TRAINED):
            reports = {one: report_of(Path(one.removeprefix(TRAINED))) for one in several(name)}
            answers = answerers(reports, arguments, found, otherwise="")
        else:
            answers = {name: {one.qid for one in found}}
        made[f"chained hybrid, stance by {shown(name)}"] = by_turns(by_stance, answers)
    return made


def attacked(
    task: str, arguments: Sequence[Argument], split: str | None, names: Sequence[str]
) -> str:
    """How often each backend finds the claim that an argument attacks."""
    asked = [one for one in usable(arguments) if not split or split_of(one.topic) == split]
    known = digest(arguments)
    lines = [f"\n**{task}**, {len(asked)} arguments, chance .500\n", HEAD]
    for name in dict.fromkeys(("rules", *names)):
        backends = [backend(one) for one in several(name)]
        lines.append(row(shown(name), list(decided(backends, asked, known))))
    return "\n".join(lines) + "\n"


def several(name: str) -> list[str]:
    """The backends of a name; trained ones of different folds are named together."""
    if not name.startswith(TRAINED):
        return [name]
    return [TRAINED + folder for folder in name.removeprefix(TRAINED).split(",")]


def shown(name: str) -> str:
    """A backend's name without the path or the owner of its model."""
    kind, colon, _ = name.partition(":")
    return kind + colon + ",".join(Path(one).name for one in several(name) if colon)
