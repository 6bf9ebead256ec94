"""What the statuses of runs say against their scores: other judges, no model, other indexes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from touche_rad.files.outputs import OTHER_STATUS, read_status, sha256_of, why_no_status
from touche_rad.plugins import registered
from touche_rad.runs.fallbacks import UTTERANCES
from touche_rad.score.naming import plugin_of
from touche_rad.score.result import RunFault
from touche_rad.score.validation import counts_of
from touche_rad.score.words import names_of
from touche_rad.text import shell_words

_WITHOUT_MODEL: Final = (
    "judged without a language model: such a judge does not see on which side an answer argues, "
    "and may share code with a debater{}. Rank debaters by people, or by a judge with a model."
)


def without_model(runs: Iterable[Path]) -> list[str]:
    """Return a warning with the judges without a language model that made such verdicts."""
    judges = {
        plugin_of(status, "judge")
        for status in map(read_status, runs)
        if status.get("verb") == "judge" and not status.get("usage")
    }
    return [say_without_model(sorted(judges))] if judges else []


def say_without_model(judges: Sequence[str]) -> str:
    """Warn of verdicts by judges without a language model."""
    example = ""
    for name in registered("debater").keys() & {*judges}:
        example = f", as the judge {name} does with the debater {name}"
    return f"{names_of(judges)} {_WITHOUT_MODEL.format(example)}"


def unknown_judge(runs: Sequence[Path]) -> Iterator[str]:
    """Yield a warning if no status says whether one judge gave the verdicts of several runs."""
    if len(runs) > 1 and not any(map(read_status, runs)):
        yield "no run has a status with its judge: rank only runs that one judge judged"


def without_rank(runs: Mapping[str, Path]) -> list[RunFault]:
    """Return why runs have no rank: only fallbacks, or no judge while that of others is known."""
    faults = []
    unknown = [run for run, path in runs.items() if not plugin_of(read_status(path), "judge")]
    if len(unknown) == len(runs):
        unknown = []
    for run in unknown:
        text = f"without a rank, as its judge is unknown ({why_no_status(runs[run])}): judge again"
        faults.append(RunFault(run, 1, text, what="unknown judge"))
    for run, path in runs.items():
        for what, (count, total) in counts_of(path).replaced.items():
            if count == total and what != UTTERANCES:
                text = f"without a rank, as all its {what} are fallbacks"
                faults.append(RunFault(run, 0, text, what="fallback"))  # they have a count
    return faults


def different_judges(runs: Sequence[Path]) -> str:
    """Return why verdicts cannot be compared; empty if one judge gave them, with one index."""
    known = sorted({plugin_of(read_status(run), "judge") for run in runs} - {""})
    if len(known) > 1:
        return f"the verdicts are of {names_of(known)}; labels tell who is right"
    return "".join(judged_with_different_indexes(runs))


def judged_with_different_indexes(runs: Iterable[Path]) -> Iterator[str]:
    """Yield a warning if verdicts of one judge, or of one panel, are with different indexes."""
    judgings = set()
    for run in runs:
        status = read_status(run)
        judgings.add((plugin_of(status, "judge"), status.get("identity", {}).get("index")))
    if len(judgings) > len({judge for judge, _ in judgings}):
        yield "the runs were judged with different indexes (or none): judge all with the same -i"


def of_origins(runs: Mapping[str, Path], named: Iterable[Path | None] = ()) -> Iterator[str]:
    """Yield warnings of equal files, statuses of other files, other indexes, and seeds alone.

    Also of verdicts on debates that were made again; `named` are further files that the user names.
    """
    yield from equal_files(runs.values())
    yield from on_earlier_debates(runs.values(), filter(None, [*runs.values(), *named]))
    indexes: dict[str, list[str]] = {}
    seeds: dict[str, dict[str, object]] = {}
    for name, path in runs.items():
        status = read_status(path)
        if not status and why_no_status(path) is OTHER_STATUS:
            yield f"{name}: {OTHER_STATUS}"
        identity = dict(status.get("identity", {}))
        judged = dict(status.get("judged", {}).get("identity", {}))
        made_by = judged or identity
        if made_by.get("index") and "judge" not in made_by:
            indexes.setdefault(made_by["index"], []).append(name)
        if judged:
            identity.pop("input", None)  # another seed makes other debates
        seed = identity.pop("seed", None), judged.pop("seed", None)
        seeds.setdefault(repr((identity, judged)), {})[name] = seed
    for seed_of in seeds.values():
        if len({*seed_of.values()}) > 1:
            yield (
                "runs of the same debater or judge with different random seeds, so a difference "
                f"between them is chance: {names_of([*seed_of])}"
            )
    if len(indexes) > 1:
        yield f"runs from different indexes: {'; '.join(map(names_of, indexes.values()))}"


def on_earlier_debates(runs: Iterable[Path], named: Iterable[Path]) -> Iterator[str]:
    """Yield a warning for each run with verdicts on other debates than its input has now.

    The status may be a stranger's: an input that only it names is read in its folder only.
    """
    places_named = set(map(os.path.realpath, named))
    for run in runs:
        status = read_status(run)
        words: Sequence[str] = status.get("command", ())
        if status.get("verb") != "judge" or len(words) < 2:
            continue
        debates = Path(os.path.normpath(run.parent / words[0] / words[1]))
        place = os.path.realpath(debates)
        is_in_folder = Path(place).is_relative_to(os.path.realpath(run.parent))
        if not (debates.is_file() and (is_in_folder or place in places_named)):
            continue
        if sha256_of(debates) != status.get("identity", {}).get("input"):
            command = shell_words("touche-rad", "check", run, "--input", debates)
            yield f"{run}: verdicts on an earlier {debates}: judge it again ({command} says how)"


def equal_files(runs: Iterable[Path]) -> Iterator[str]:
    """Yield a warning for runs that are one file under several names."""
    groups: dict[str, list[str]] = {}
    for run in filter(Path.is_file, runs):
        groups.setdefault(sha256_of(run), []).append(str(run))
    for paths in groups.values():
        if len(paths) > 1:
            yield f"equal files: {', '.join(paths)}"
