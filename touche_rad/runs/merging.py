"""Merge the parts of a run into the files that the whole run would have written."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from touche_rad import files
from touche_rad.files.outputs import Status, is_output_of, sha256_of, status_beside, write_status
from touche_rad.files.traces import TRACE
from touche_rad.models.cache import CACHE_FILE, Cache
from touche_rad.models.usage import Usage
from touche_rad.runs.fallbacks import ERRORS
from touche_rad.runs.journal import Facts, Tally
from touche_rad.runs.parts import CACHE, FinishedPart

Progress = Callable[[int, int | None], None]


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
    progress: Progress | None = None,
) -> Merged:
    """Write the output of a whole run, its status, trace and tracebacks.

    Args:
        parts: All parts of the run in order; `check_parts` returns them so.
        out: The output.
        replace: Whether the output of another run may be replaced.
        cache: The folder of the cache that gets the answers of the parts' caches.
        progress: Called with (done, total).

    Raises:
        UserError: The output exists already.
        WorkError: A part is damaged.
    """
    first = parts[0]
    if not replace and not is_output_of(out, first.identity):
        files.check_output(out, replace=False)
    report = progress or (lambda done, total: None)
    tally = Tally()
    with files.atomic_write(out) as stream:
        for part in parts:
            for done in part.units():
                tally.add(done)
                stream.writelines(f"{line}\n" for line in done.lines)
                report(tally.units, first.total)
    _join(parts, out, TRACE)
    _join(parts, out, ERRORS)
    status = _status(parts, out, tally)
    write_status(status, status_beside(out))
    caches = [part.folder / CACHE for part in parts if (part.folder / CACHE / CACHE_FILE).is_file()]
    added = 0
    if cache is not None and caches:
        into = Cache(cache)
        added = sum(into.add(Cache(one, make=False).rows()) for one in caches)
    return Merged(status, len(caches), added)


def _join(parts: Sequence[FinishedPart], out: Path, suffix: str) -> None:
    """Join the files beside the parts' outputs in the order of the parts."""
    target = out.with_name(f"{out.name}{suffix}")
    sources = [part.output.with_name(f"{part.output.name}{suffix}") for part in parts]
    found = [path for path in sources if path.is_file()]
    if not found:
        target.unlink(missing_ok=True)  # of the run that is replaced
        return
    with files.atomic_write(target) as stream:
        for path in found:
            with path.open(encoding="utf-8", errors="backslashreplace", newline="") as source:
                shutil.copyfileobj(source, stream)


def _status(parts: Sequence[FinishedPart], out: Path, tally: Tally) -> Status:
    """Return the status of the whole run, from the start of the first part to the last end."""
    statuses = [part.status for part in parts]
    started, finished = (
        min(one.started for one in statuses),
        max(one.finished for one in statuses),
    )
    usage = _usage(parts)
    errors = out.with_name(f"{out.name}{ERRORS}")
    facts = Facts(
        _each(one.record.settings for one in parts),
        next(iter(_each((one.record.skipped,) for one in parts)), ""),
        _each(one.record.model for one in parts),
        usage,
    )
    return Status(
        verb=statuses[0].verb,
        state="done",
        output=str(out),
        sha256=sha256_of(out),
        units=parts[0].total,
        done=tally.units,
        resumed=sum(one.resumed for one in statuses),
        skipped=statuses[0].skipped,  # each part reads the whole input
        warnings=facts.warnings(tally),
        demo=statuses[0].demo,
        errors=str(errors) if errors.is_file() else "",
        identity=parts[0].identity,
        usage=usage.record() if usage.steps else {},
        started=started,
        finished=finished,
        seconds=round((finished - started).total_seconds(), 3),
        **tally.fields(),
    )


def _usage(parts: Sequence[FinishedPart]) -> Usage:
    usage = Usage()
    for part in parts:
        if part.record.usage is not None:
            usage.add(part.record.usage)
    return usage


def _each(texts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the texts that the parts have, each once."""
    return tuple(text for text in dict.fromkeys(chain.from_iterable(texts)) if text)
