"""What the statuses of runs say against their scores: no language model, different indexes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from touche_rad.files.outputs import read_status, sha256_of
from touche_rad.score.words import names_of

WITHOUT_MODEL: Final = (
    "These verdicts are from a judge without a language model: it does not see on which side "
    "an answer argues, and it may share code with a debater. Rank debaters by people, or by a "
    "judge with a model."
)


def without_model(runs: Iterable[Path]) -> list[str]:
    """Return a warning if a judge without a language model made some of these verdicts."""
    statuses = map(read_status, runs)
    if any(status.get("verb") == "judge" and not status.get("usage") for status in statuses):
        return [WITHOUT_MODEL]
    return []


def different_indexes(statuses: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield a warning if answers of runs, or verdicts of one judge, are from different indexes."""
    groups: dict[str, dict[str | None, list[str]]] = {}
    for name, status in statuses:
        identity = status.get("identity", {})
        judge = identity.get("judge")
        if judge or identity.get("index"):
            runs = groups.setdefault(judge or "the answers", {})
            runs.setdefault(identity.get("index"), []).append(name)
    for results, runs in groups.items():
        if len(runs) > 1:
            texts = "; ".join(map(names_of, runs.values()))
            yield f"different indexes (or none) of {results}: {texts}"


def equal_files(runs: Iterable[Path]) -> Iterator[str]:
    """Yield a warning for runs that are one file under several names."""
    groups: dict[str, list[str]] = {}
    for run in filter(Path.is_file, runs):
        groups.setdefault(sha256_of(run), []).append(str(run))
    for paths in groups.values():
        if len(paths) > 1:
            yield f"equal files: {', '.join(paths)}"
