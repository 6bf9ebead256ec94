"""What the statuses of runs say against their scores: other judges, no model, other indexes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from touche_rad.files.outputs import (
    UNKNOWN_FALLBACKS,
    command_of,
    known_status,
    last_status,
    sha256_of,
    status_or_problem,
)
from touche_rad.plugins import registered
from touche_rad.runs.fallbacks import UTTERANCES
from touche_rad.score.naming import plugin_of
from touche_rad.score.result import RunFault
from touche_rad.score.validation import check
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
        for status in map(known_status, runs)
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
    """Yield a warning if no status says who judged a run, which others may not have as judge."""
    unknown = [str(run) for run in runs if not plugin_of(known_status(run), "judge")]
    if unknown and len(runs) > 1:
        yield (
            f"no status names the judge of {names_of(unknown)}: rank only runs that one judge "
            "judged"
        )


def without_rank(runs: Mapping[str, Path]) -> list[RunFault]:
    """Return why runs have no rank: they have only fallbacks, which have a count of their own."""
    faults = []
    for run, path in runs.items():
        for what, (count, total) in check(path).replaced.items():
            if count == total and what != UTTERANCES:
                faults.append(
                    RunFault(
                        run, 0, f"without a rank, as all its {what} are fallbacks", what="fallback"
                    )
                )
    return faults


def different_judges(runs: Sequence[Path]) -> str:
    """Return why verdicts cannot be compared; empty if one judge gave them, with one index."""
    known = sorted({plugin_of(known_status(run), "judge") for run in runs} - {""})
    if len(known) > 1:
        return f"the verdicts are of {names_of(known)}; labels tell who is right"
    return "".join(judged_with_different_indexes(runs))


def judged_with_different_indexes(runs: Iterable[Path]) -> Iterator[str]:
    """Yield a warning if verdicts of one judge, or of one panel, are with different indexes."""
    judgings = {
        (plugin_of(status, "judge"), status.get("identity", {}).get("index"))
        for status in map(known_status, runs)
    }
    if len(judgings) > len({judge for judge, _ in judgings}):
        yield "the runs were judged with different indexes (or none): judge all with the same -i"


def of_origins(runs: Mapping[str, Path], named: Iterable[Path | None]) -> Iterator[str]:
    """Yield warnings of equal files, statuses of other files, other indexes, and seeds alone.

    Also of verdicts on debates that were made again; `named` are further files that the user names.
    """
    yield from equal_files(runs.values())
    yield from on_earlier_debates(runs.values(), filter(None, [*runs.values(), *named]))
    groups: dict[str, dict[str, list[str]]] = {}
    seeds: dict[str, dict[str, object]] = {}
    for name, path in runs.items():
        status, problem = status_or_problem(path)
        if problem:
            yield f"{name}: {problem}; {UNKNOWN_FALLBACKS}"
        identity = dict(status.get("identity", {}))
        judged = dict(status.get("judged", {}).get("identity", {}))
        made_by = judged or identity
        made_with = {
            f"{key}, so judge all again": value
            for key, value in identity.items()
            if key.startswith("code of judge ")
        }
        if made_by.get("index") and "judge" not in made_by:
            made_with["indexes"] = made_by["index"]
        for what, value in made_with.items():
            groups.setdefault(what, {}).setdefault(str(value), []).append(name)
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
    for what, runs_by_value in groups.items():
        if len(runs_by_value) > 1:
            yield f"runs from different {what}: {'; '.join(map(names_of, runs_by_value.values()))}"


def on_earlier_debates(runs: Iterable[Path], named: Iterable[Path]) -> Iterator[str]:
    """Yield a warning for each run with verdicts on other debates than its input has now.

    The status may be a stranger's: an input that only it names is read in its folder only.
    """
    places_named = set(map(os.path.realpath, named))
    for run in runs:
        command = command_of(run)
        if command[:1] != ["judge"]:
            continue
        debates = Path(command[1])
        place = os.path.realpath(debates)
        is_in_folder = Path(place).is_relative_to(os.path.realpath(run.parent))
        if not (debates.is_file() and (is_in_folder or place in places_named)):
            continue
        if sha256_of(debates) != last_status(run).get("identity", {}).get("input"):
            check_run = shell_words("touche-rad", "check", run, "--input", debates)
            yield f"{run}: verdicts on an earlier {debates}: judge it again ({check_run} says how)"


def equal_files(runs: Iterable[Path]) -> Iterator[str]:
    """Yield a warning for runs that are one file under several names."""
    groups: dict[str, list[str]] = {}
    for run in filter(Path.is_file, runs):
        groups.setdefault(sha256_of(run), []).append(str(run))
    for paths in groups.values():
        if len(paths) > 1:
            yield f"equal files: {', '.join(paths)}"
