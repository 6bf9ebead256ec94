"""Parts of a run: `--shard I/N` processes one range of the input's debates, `merge` joins them.

A part is a folder with this range of the output, its status, and `units.jsonl`, the finished
journal, which also has what `merge` needs to make the files of the whole run. Debates have the same
numbers in all parts as in the whole run, so that nothing depends on the part that processes one.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from touche_rad import files
from touche_rad.errors import UserError, WorkError
from touche_rad.events import Event
from touche_rad.files.append_log import (
    IDENTITY,
    AppendLog,
    read_at,
    read_log,
    refuse_other_identity,
)
from touche_rad.files.outputs import Status, is_output_of, sha256_of, status_beside
from touche_rad.files.traces import TRACE
from touche_rad.models import Model
from touche_rad.models.cache import CACHE_FILE
from touche_rad.models.sending import Usage
from touche_rad.runs.fallbacks import ERRORS
from touche_rad.runs.journal import RUN, SUFFIX, UNIT, is_finished, parse_unit
from touche_rad.runs.shard import Shard
from touche_rad.runs.work import Done, Progress, Tally, write_readable
from touche_rad.text import redact_data

UNITS: Final = "units.jsonl"
"""The journal of a part that is complete."""
CACHE: Final = "cache"
SHARD: Final = "shard"
"""The key of the shard in the identity of a part."""
_PART: Final = "part"
_END: Final = "end"


class PartEnd(BaseModel):
    """What the last line of a complete part says."""

    status: Status
    warnings: tuple[Event, ...]
    """The warnings that are not about results."""
    usage: Mapping[str, Any] | None


@dataclass(frozen=True)
class Part:
    """A part that is being made."""

    shard: Shard
    folder: Path
    run: Path
    """The output of the whole run."""
    source: Path
    command: tuple[str, ...]
    """The words of the command line that makes it, without `touche-rad`."""

    def others_missing(self) -> list[Shard]:
        """Return the other shards of the run that are not complete in this place."""
        return [
            shard
            for shard in self.shard.all()
            if shard != self.shard and not (shard.folder(self.run) / UNITS).is_file()
        ]

    def header(self, total: int) -> Mapping[str, Any]:
        """Return what its journal says in addition to the identity."""
        names = {"run": str(self.run), "source": str(self.source), "command": self.command}
        return {_PART: {**names, "total": total}}

    def finished(self, out: Path, identity: Mapping[str, Any]) -> Status | None:
        """Return the status of this part if it is complete already, with the same identity."""
        if not (self.folder / UNITS).is_file() or not is_finished(out, identity):
            return None
        return _read(self.folder).end.status

    def finish(
        self,
        log: AppendLog,
        status: Status,
        warnings: tuple[Event, ...],
        model: Model | None,
    ) -> None:
        """End the journal, and rename it, with which the part is complete."""
        usage = model.usage.record() if model is not None else None
        end = PartEnd(status=status, warnings=warnings, usage=usage)
        log.append({_END: redact_data(end.model_dump(mode="json"))})
        log.finish(self.folder / UNITS)


@dataclass(frozen=True)
class FinishedPart(Part):
    """A complete part, as it is read."""

    total: int
    """The number of units of the whole run."""
    run_identity: Mapping[str, Any]
    """The identity of the whole run."""
    end: PartEnd
    places: Sequence[int]
    """Where the records of its units begin in its journal, in the order of the input."""

    def units(self) -> Iterator[Done]:
        """Yield its units in the order of the input."""
        return map(parse_unit, read_at(self.folder / UNITS, self.places))

    def command_of(self, shard: Shard) -> str:
        """Return the command line that makes a shard of the same run."""
        words = ["touche-rad", *self.command]
        for place, word in enumerate(words):
            if word.startswith("--shard="):
                words[place] = f"--shard={shard}"
            elif words[place - 1] == "--shard":
                words[place] = str(shard)
        return shlex.join(words)


def find_parts(places: Sequence[Path]) -> list[FinishedPart]:
    """Return the parts in folders, in order; a folder may be a part, or contain parts.

    Raises:
        UserError: A folder has no part, or the parts are not those of one run, each once.
    """
    parts: list[FinishedPart] = []
    for place in places:
        folders = [
            folder
            for folder in (place, *sorted(place.glob("*")))
            if (folder / UNITS).is_file() or _is_begun(folder)
        ]
        if not folders:
            raise UserError(
                f"{place} has no part of a run: expected a folder that --shard I/N made"
            )
        parts += map(_read, folders)

    # They are all of one run, and there is each of them once.
    first = parts[0]
    by_number: dict[int, FinishedPart] = {}
    for part in parts:
        identities = [
            {**of_run.run_identity, "shards": of_run.shard.count, "debates": of_run.total}
            for of_run in (first, part)
        ]
        problem = f"{first.folder} and {part.folder} are parts of different runs:"
        fix = f"make one again with the command of the other: {first.command_of(part.shard)}"
        refuse_other_identity(problem, identities[0], identities[1], fix)
        earlier = by_number.setdefault(part.shard.number, part).folder
        if earlier.resolve() != part.folder.resolve():
            raise UserError(
                f"shard {part.shard} is given twice: {earlier} and {part.folder}: leave one out"
            )
    for shard in first.shard.all():
        if shard.number not in by_number:
            raise UserError(f"shard {shard} is missing: make it: {first.command_of(shard)}")
    return [by_number[number] for number in sorted(by_number)]


def _is_begun(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob(f"*{SUFFIX}"))


def _read(folder: Path) -> FinishedPart:
    path = folder / UNITS
    again = f"run the same command with --shard {folder.name.replace('-of-', '/')} again"
    if _is_begun(folder) or not path.is_file():
        raise UserError(f"{folder} is not finished: {again}")
    try:
        lines = read_log(path, RUN)
        header = next(lines).record
        about_run = header[_PART]
        identity = dict(header[IDENTITY])
        shard = Shard.parse(identity.pop(SHARD))
        places: dict[int, int] = {}
        end: object = None
        for line in lines:
            if UNIT in line.record:
                places[line.record[UNIT]] = line.offset
            end = line.record.get(_END)
        return FinishedPart(
            shard=shard,
            folder=folder,
            run=Path(about_run["run"]),
            source=Path(about_run["source"]),
            command=tuple(about_run["command"]),
            total=about_run["total"],
            run_identity=identity,
            end=PartEnd.model_validate(end),
            places=[places[unit] for unit in shard.units(about_run["total"])],
        )
    except (StopIteration, LookupError, ValueError):
        raise WorkError(f"{path} is damaged: remove {folder}, and {again}") from None


def merge_parts(
    parts: Sequence[FinishedPart],
    out: Path,
    *,
    replace: bool = False,
    progress: Progress = lambda done, total: None,
) -> Status:
    """Write the output of a whole run, its status, trace and tracebacks.

    The parts are in order, as `find_parts` returns them.

    Raises:
        UserError: The output exists already.
    """
    if not is_output_of(out, parts[0].run_identity):
        files.check_output(out, replace=replace)
    tally = Tally()
    with files.atomic_write(out) as stream:
        for part in parts:
            for done in part.units():
                tally.add(done)
                stream.writelines(f"{line}\n" for line in done.lines)
                progress(tally.units, part.total)
    _join(parts, out, TRACE)
    errors = _join(parts, out, ERRORS)
    usage = Usage()
    for part in parts:
        if part.end.usage is not None:
            usage.add(part.end.usage)
    statuses = [part.end.status for part in parts]
    started = min(status.started for status in statuses)
    finished = max(status.finished for status in statuses)
    status = tally.status(
        out,
        # Parts have many warnings in common.
        warnings=dict.fromkeys(warning for part in parts for warning in part.end.warnings),
        usage=usage,
        errors=errors,
        verb=statuses[0].verb,
        state="done",
        sha256=sha256_of(out),
        units=parts[0].total,
        done=tally.units,
        resumed=sum(status.resumed for status in statuses),
        skipped=statuses[0].skipped,  # each part reads the whole input
        identity=parts[0].run_identity,
        started=started,
        finished=finished,
        seconds=round((finished - started).total_seconds(), 3),
        **statuses[0].setup,
    )
    write_readable(status_beside(out), status.model_dump(mode="json"))
    return status


def caches_of(parts: Sequence[FinishedPart]) -> list[Path]:
    """Return the folders of the parts' caches of model answers."""
    caches = (part.folder / CACHE for part in parts)
    return [cache for cache in caches if (cache / CACHE_FILE).is_file()]


def _join(parts: Sequence[FinishedPart], out: Path, suffix: str) -> Path:
    """Join the files beside the parts' outputs in the order of the parts."""
    target = out.with_name(f"{out.name}{suffix}")
    sources = (part.folder / f"{part.run.name}{suffix}" for part in parts)
    paths = [path for path in sources if path.is_file()]
    if not paths:
        target.unlink(missing_ok=True)  # of the run that is replaced
        return target
    with files.atomic_write(target) as stream:
        for path in paths:
            with path.open(encoding="utf-8", errors="backslashreplace", newline="") as source:
                shutil.copyfileobj(source, stream)
    return target
