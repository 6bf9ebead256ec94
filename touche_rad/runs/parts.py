"""Parts of a run: `--shard I/N` processes one range of the input's debates, `merge` joins them.

A part is a folder with this range of the output, its status, and `units.jsonl`, the finished
journal. Debates have the same numbers in all parts as in the whole run, so that nothing depends on
the part that processes one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.errors import UserError, WorkError
from touche_rad.events import EventKind
from touche_rad.files.append_log import IDENTITY, read_at, read_log, refuse_other_identity
from touche_rad.files.outputs import (
    STATUS,
    Status,
    is_output_of,
    read_status,
    sha256_of,
)
from touche_rad.files.records import JOURNAL, path_beside, refuse_links_out, write_json
from touche_rad.frozen import frozen
from touche_rad.models.sending import Usage
from touche_rad.runs.fallbacks import ERRORS
from touche_rad.runs.journal import RUN, UNIT, parse_unit
from touche_rad.runs.shard import SHARD, UNITS, Shard
from touche_rad.runs.work import Progress, Tally
from touche_rad.text import map_texts, redact

_OF_RESULTS: Final = (EventKind.FALLBACKS, EventKind.FAILED_CALLS)
"""Warnings that the merged run counts anew."""


@frozen
class Part:
    """A complete part, as it is read."""

    shard: Shard
    run: Path
    """Its output; its other files are beside it."""
    status: Status
    run_identity: Mapping[str, Any]
    """The identity of the whole run."""
    places: Sequence[int]
    """Where the records of its units begin in its journal, in the order of the input."""


def find_parts(folders: Sequence[Path]) -> list[Part]:
    """Return the parts in folders, in order; a folder may be a part, or contain parts.

    Raises:
        UserError: A folder has no part, or the parts are not those of one run, each once.
    """
    parts: list[Part] = []
    for place in folders:
        of_parts = [
            folder
            for folder in (place, *sorted(place.glob("*")))
            if (folder / UNITS).is_file() or _is_begun(folder)
        ]
        if not of_parts:
            raise UserError(
                f"{place} has no part of a run: expected a folder that --shard I/N made"
            )
        parts += map(_read, of_parts)

    # They are all of one run, and there is each of them once.
    first = parts[0]
    by_number: dict[int, Part] = {}
    for part in parts:
        problem = f"{first.run.parent} and {part.run.parent} are parts of different runs:"
        refuse_other_identity(
            problem,
            {**first.run_identity, "shards": first.shard.count},
            {**part.run_identity, "shards": part.shard.count},
            f"make shard {part.shard} again with the options of the other",
        )
        earlier = by_number.setdefault(part.shard.number, part).run.parent
        if earlier.resolve() != part.run.parent.resolve():
            raise UserError(
                f"shard {part.shard} is given twice: {earlier} and {part.run.parent}: leave one out"
            )
    for shard in first.shard.all():
        if shard.number not in by_number:
            raise UserError(
                f"shard {shard} is missing: run the command of the others with --shard {shard}"
            )
    return [by_number[number] for number in sorted(by_number)]


def _is_begun(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob(f"*{JOURNAL}"))


def _read(folder: Path) -> Part:
    path = folder / UNITS
    again = f"run the same command with --shard {folder.name.replace('-of-', '/')} again"
    if _is_begun(folder) or not path.is_file():
        raise UserError(f"{folder} is not finished: {again}")
    refuse_links_out(folder, folder.iterdir())
    try:
        (beside,) = folder.glob(f"*{STATUS}")
        run = beside.with_name(beside.name.removesuffix(STATUS))
        status = Status.model_validate(read_status(run))
        lines = read_log(path, RUN)
        header = next(lines).record
        units = {line.record[UNIT]: line.offset for line in lines}
        places = [units[number] for number in sorted(units)]
        is_whole = status.state == "done" and len(places) == status.done
        if header[IDENTITY] != status.identity or not is_whole:
            raise ValueError("another run, or not all of it")
        identity = dict(status.identity)
        shard = Shard.parse(identity.pop(SHARD))
    except (StopIteration, LookupError, ValueError, TypeError, AttributeError):
        raise WorkError(f"{path} is damaged: remove {folder}, and {again}") from None
    return Part(shard, run, status, identity, places)


def merge_parts(
    parts: Sequence[Part],
    out: Path,
    *,
    replace: bool,
    progress: Progress,
) -> Status:
    """Write the output of a whole run, and its status; traces and tracebacks stay in the parts.

    The parts are in order, as `find_parts` returns them.

    Raises:
        UserError: The output exists already.
    """
    statuses = [part.status for part in parts]
    first = statuses[0]
    identity = parts[0].run_identity
    total = sum(status.done for status in statuses)
    if not is_output_of(out, identity):
        files.check_output(out, replace=replace)
    tally = Tally()
    with files.atomic_write(out) as stream:
        for part in parts:
            content = hashlib.sha256()
            units = part.run.with_name(UNITS)
            for done in map(parse_unit, read_at(units, part.places)):
                tally.add(done)
                lines = "".join(f"{line}\n" for line in done.lines)
                stream.write(lines)
                content.update(lines.encode())
                progress(tally.units, total)
            if content.hexdigest() != part.status.sha256:
                raise WorkError(f"{units} is not of {part.run.name}: make shard {part.shard} again")
    errors = (path_beside(part.run, ERRORS) for part in parts)
    usage = Usage()
    for status in statuses:
        if status.usage:
            usage.add(status.usage)
    warnings = [warning for status in statuses for warning in status.warnings]
    started = min(status.started for status in statuses)
    finished = max(status.finished for status in statuses)
    merged = tally.status(
        out,
        # Parts have many warnings in common.
        warnings=dict.fromkeys(event for event in warnings if event.kind not in _OF_RESULTS),
        usage=usage,
        errors=next(filter(Path.is_file, errors), None),
        verb=first.verb,
        state="done",
        sha256=sha256_of(out),
        units=total,
        done=total,
        resumed=sum(status.resumed for status in statuses),
        skipped=first.skipped,  # each part reads the whole input
        identity=identity,
        started=started,
        finished=finished,
        seconds=round((finished - started).total_seconds(), 3),
        **first.setup,
    )
    write_json(path_beside(out, STATUS), map_texts(merged.model_dump(mode="json"), redact))
    return merged
