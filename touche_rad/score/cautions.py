"""What the statuses of runs say against their scores: other judges, no model, other indexes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad.files.outputs import read_status, sha256_of, status_beside
from touche_rad.score.naming import plugin_of
from touche_rad.score.words import names_of

WITHOUT_MODEL: Final = (
    "judged without a language model: such a judge does not see on which side an answer argues, "
    "and may share code with a debater. Rank debaters by people, or by a judge with a model."
)


def without_model(runs: Iterable[Path]) -> list[str]:
    """Return a warning with the judges without a language model that made such verdicts."""
    judges = {
        plugin_of(status, "judge")
        for status in map(read_status, runs)
        if status.get("verb") == "judge" and not status.get("usage")
    }
    return [f"{names_of(sorted(judges))} {WITHOUT_MODEL}"] if judges else []


def unknown_judge(runs: Sequence[Path]) -> Iterator[str]:
    """Yield a warning if no status says whether one judge gave the verdicts of several runs."""
    if len(runs) > 1 and not any(map(read_status, runs)):
        yield "no run has a status with its judge: rank only runs that one judge judged"


def different_judges(runs: Sequence[Path]) -> str:
    """Return why verdicts cannot be compared; empty if one judge gave them, with one index."""
    judges: dict[str, str] = {}  # what they are called, by name
    for run in runs:
        status = read_status(run)
        judge = plugin_of(status, "judge")
        beside = status_beside(run)
        why = f"{beside} is of another file" if beside.is_file() else f"{run} has no status"
        judges.setdefault(judge, judge or f"an unknown judge ({why}: judge it again)")
    if len(judges) > 1:
        names = names_of(sorted(judges.values()))
        return f"the verdicts are of {names}; labels tell who is right"
    return "".join(judged_with_different_indexes(runs))


def judged_with_different_indexes(runs: Iterable[Path]) -> Iterator[str]:
    """Yield a warning if verdicts of one judge, or of one panel, are with different indexes."""
    judgings = set()
    for run in runs:
        status = read_status(run)
        judgings.add((plugin_of(status, "judge"), status.get("identity", {}).get("index")))
    if len(judgings) > len({judge for judge, _ in judgings}):
        yield "the runs were judged with different indexes (or none): judge all with the same -i"


def different_indexes(statuses: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield a warning if runs, but not their verdicts, are from different indexes."""
    groups: dict[str, list[str]] = {}
    for name, status in statuses:
        identity = status.get("identity", {})
        if identity.get("index") and "judge" not in identity:
            groups.setdefault(identity["index"], []).append(name)
    if len(groups) > 1:
        yield f"runs from different indexes: {'; '.join(map(names_of, groups.values()))}"


def equal_files(runs: Iterable[Path]) -> Iterator[str]:
    """Yield a warning for runs that are one file under several names."""
    groups: dict[str, list[str]] = {}
    for run in filter(Path.is_file, runs):
        groups.setdefault(sha256_of(run), []).append(str(run))
    for paths in groups.values():
        if len(paths) > 1:
            yield f"equal files: {', '.join(paths)}"
