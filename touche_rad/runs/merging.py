"""Merge the parts of a run into the files that the whole run would have written."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from touche_rad import files
from touche_rad.files.outputs import Status, is_output_of, sha256_of, status_beside, write_status
from touche_rad.files.traces import TRACE
from touche_rad.models.cache import CACHE_FILE, Cache
from touche_rad.models.sending import Usage
from touche_rad.runs.fallbacks import ERRORS
from touche_rad.runs.output import Facts, Tally
from touche_rad.runs.parts import CACHE, FinishedPart
from touche_rad.runs.work import Progress


@dataclass(frozen=True)
class Merged:
    """A merged run."""

    status: Status
    caches: int
    """The number of parts that have a cache."""
    answers: int = 0
    """Answers that were new to the cache of the run."""


def merge_parts(
    parts: Sequence[FinishedPart],
    out: Path,
    *,
    replace: bool = False,
    cache: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Merged:
    """Write the output of a whole run, its status, trace and tracebacks.

    The parts are in order, as `check_parts` returns them. `cache` is the folder of the cache that
    gets the answers of the parts' caches.

    Raises:
        UserError: The output exists already.
        WorkError: A part is damaged.
    """
    if not is_output_of(out, parts[0].identity):
        files.check_output(out, replace=replace)
    tally = Tally()
    with files.atomic_write(out) as stream:
        for part in parts:
            for done in part.units():
                tally.add(done)
                stream.writelines(f"{line}\n" for line in done.lines)
                progress(tally.units, part.record.total)
    _join(parts, out, TRACE)
    errors = _join(parts, out, ERRORS)
    status = _status(parts, out, errors, tally)
    write_status(status, status_beside(out))
    caches = [part.folder / CACHE for part in parts if (part.folder / CACHE / CACHE_FILE).is_file()]
    added = 0
    if cache is not None and caches:
        into = Cache(cache)
        added = sum(into.add(Cache(one, make=False).rows()) for one in caches)
    return Merged(status, len(caches), added)


def _join(parts: Sequence[FinishedPart], out: Path, suffix: str) -> Path:
    """Join the files beside the parts' outputs in the order of the parts."""
    target = out.with_name(f"{out.name}{suffix}")
    sources = [part.output.with_name(f"{part.output.name}{suffix}") for part in parts]
    paths = [path for path in sources if path.is_file()]
    if not paths:
        target.unlink(missing_ok=True)  # of the run that is replaced
        return target
    with files.atomic_write(target) as stream:
        for path in paths:
            with path.open(encoding="utf-8", errors="backslashreplace", newline="") as source:
                shutil.copyfileobj(source, stream)
    return target


def _status(parts: Sequence[FinishedPart], out: Path, errors: Path, tally: Tally) -> Status:
    """Return the status of the whole run, from the start of the first part to the last end."""
    facts, statuses = [part.facts for part in parts], [part.record.status for part in parts]
    first = statuses[0]
    started = min(one.started for one in statuses)
    finished = max(one.finished for one in statuses)
    usage = Usage()
    for one in facts:
        if one.usage is not None:
            usage.add(one.usage.record())
    # Parts have many warnings in common.
    whole = Facts(
        tuple(dict.fromkeys(chain.from_iterable(one.settings for one in facts))),
        next((one.skipped for one in facts if one.skipped), ""),
        tuple(dict.fromkeys(chain.from_iterable(one.model for one in facts))),
        usage,
    )
    return whole.status(
        tally,
        out,
        errors,
        verb=first.verb,
        state="done",
        sha256=sha256_of(out),
        units=parts[0].record.total,
        done=tally.units,
        resumed=sum(one.resumed for one in statuses),
        skipped=first.skipped,  # each part reads the whole input
        demo=first.demo,
        identity=parts[0].identity,
        started=started,
        finished=finished,
        seconds=round((finished - started).total_seconds(), 3),
    )
