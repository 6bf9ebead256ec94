"""Parts of a run: `--shard I/N` processes one range of the input's debates, `merge` joins them.

A part is a folder with this range of the output, the records of its debates, and `part.json`: what
`merge` needs to make the files of the whole run. Debates have the same numbers in all parts as in
the whole run, so that nothing depends on the part that processes a debate.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field

from touche_rad import files
from touche_rad.errors import OptionError, UserError, WorkError, refuse_newer, refuse_older
from touche_rad.events import Event
from touche_rad.files.outputs import Status, is_output_of, sha256_of, status_beside
from touche_rad.files.records import read_json
from touche_rad.files.traces import TRACE
from touche_rad.models.cache import CACHE_FILE
from touche_rad.models.sending import Usage
from touche_rad.runs.fallbacks import ERRORS
from touche_rad.runs.shard import Shard
from touche_rad.runs.work import Done, Progress, Tally, read_record, record_line, write_readable

SUFFIX: Final = ".part"
"""Suffix of the journal of a run."""
RECORD: Final = "part.json"
UNITS: Final = "units.jsonl"
CACHE: Final = "cache"
FORMAT: Final = 2
SHARD: Final = "shard"
"""The key of the shard in the identity of a part."""


class PartRecord(BaseModel):
    """The content of `part.json`."""

    format: int = FORMAT
    shard: str
    total: int = Field(ge=0)
    run: str
    source: str
    command: tuple[str, ...]
    warnings: tuple[Event, ...]
    """The warnings that are not about results."""
    usage: Mapping[str, Any] | None
    status: Status


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

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the identity of the part has in addition to that of the run."""
        return {SHARD: str(self.shard)}

    def others_missing(self) -> list[Shard]:
        """Return the other shards of the run that are not complete in this place."""
        return [
            one
            for one in self.shard.all()
            if one != self.shard and not (one.folder(self.run) / RECORD).is_file()
        ]

    def finished(self, out: Path, identity: Mapping[str, Any]) -> Status | None:
        """Return the status of this part if it is complete already, with the same identity."""
        if _is_begun(self.folder) or not (self.folder / RECORD).is_file():
            return None
        return _read(self.folder).record.status if is_output_of(out, identity) else None

    def finish(
        self,
        status: Status,
        total: int,
        units: Iterable[tuple[int, Done]],
        warnings: tuple[Event, ...],
        usage: Usage | None,
    ) -> None:
        """Write the records of all units, then `part.json`, with which the part is complete."""
        with files.atomic_write(self.folder / UNITS) as stream:
            for number, done in units:
                stream.write(record_line(number, done).decode("utf-8"))
        record = PartRecord(
            shard=str(self.shard),
            total=total,
            run=str(self.run),
            source=str(self.source),
            command=self.command,
            warnings=warnings,
            usage=usage.record() if usage is not None else None,
            status=status,
        ).model_dump(mode="json")
        write_readable(self.folder / RECORD, record)


@dataclass(frozen=True)
class FinishedPart:
    """A complete part, as it is read."""

    folder: Path
    shard: Shard
    record: PartRecord

    @property
    def identity(self) -> dict[str, Any]:
        """The identity of the whole run."""
        return {key: one for key, one in self.record.status.identity.items() if key != SHARD}

    def units(self) -> Iterator[Done]:
        """Yield its units in the order of the input.

        Raises:
            WorkError: The file of the records is damaged.
        """
        path = self.folder / UNITS
        try:
            with path.open("rb") as stream:
                numbers = self.shard.units(self.record.total)
                for expected, line in zip(numbers, stream, strict=True):
                    number, done = read_record(line)
                    if number != expected:
                        raise ValueError("another unit")
                    yield done
        except (OSError, ValueError):
            raise WorkError(
                f"{path} is damaged: remove {self.folder}, then make it again: "
                f"{self.command(self.shard)}"
            ) from None

    def command(self, shard: Shard) -> str:
        """Return the command line that makes a shard of the same run."""
        words = ["touche-rad", *self.record.command]
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
        folders = [one for one in (place, *sorted(place.glob("*"))) if _is_part(one)]
        if not folders:
            raise UserError(
                f"{place} has no part of a run: expected a folder that --shard I/N made"
            )
        parts += map(_read, folders)
    return _checked(parts)


def _is_part(folder: Path) -> bool:
    return (folder / RECORD).is_file() or _is_begun(folder)


def _is_begun(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob(f"*{SUFFIX}"))


def _read(folder: Path) -> FinishedPart:
    path = folder / RECORD
    if _is_begun(folder) or not path.is_file():
        raise UserError(
            f"{folder} is not finished: run the same command with --shard "
            f"{folder.name.replace('-of-', '/')} again"
        )
    try:
        content = read_json(path)
        refuse_newer(path, content, FORMAT)
        refuse_older(path, content, FORMAT, f"remove {folder}, and make the part again")
        record = PartRecord.model_validate(content)
        return FinishedPart(folder, Shard.parse(record.shard), record)
    except (OSError, ValueError, OptionError):
        raise UserError(f"{path} is damaged: remove {folder}, and make the part again") from None


def _checked(parts: Sequence[FinishedPart]) -> list[FinishedPart]:
    """Return the parts in order if they are all parts of one run, each once."""
    first = parts[0]
    by_number: dict[int, FinishedPart] = {}
    for one in parts:
        mine, other = (
            {**part.identity, "shards": part.shard.count, "debates": part.record.total}
            for part in (first, one)
        )
        for key in [*mine, *other]:
            if mine.get(key) != other.get(key):
                both = " and ".join(short_json(part.get(key)) for part in (mine, other))
                raise UserError(
                    f"{first.folder} and {one.folder} are parts of different runs: {key} is "
                    f"{both}; make one again with the command of the other: "
                    f"{first.command(one.shard)}"
                )
        earlier = by_number.setdefault(one.shard.number, one).folder
        if earlier.resolve() != one.folder.resolve():
            raise UserError(
                f"shard {one.shard} is given twice: {earlier} and {one.folder}: leave one out"
            )
    for shard in first.shard.all():
        if shard.number not in by_number:
            raise UserError(f"shard {shard} is missing: make it: {first.command(shard)}")
    return [by_number[number] for number in sorted(by_number)]


def short_json(value: Any) -> str:
    """Return a value of an identity for a message."""
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


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
    records, usage = [part.record for part in parts], Usage()
    for one in records:
        if one.usage is not None:
            usage.add(one.usage)
    first, statuses = records[0].status, [one.status for one in records]
    started = min(one.started for one in statuses)
    finished = max(one.finished for one in statuses)
    status = tally.status(
        out,
        # Parts have many warnings in common.
        warnings=dict.fromkeys(warning for one in records for warning in one.warnings),
        usage=usage,
        errors=errors,
        verb=first.verb,
        state="done",
        sha256=sha256_of(out),
        units=records[0].total,
        done=tally.units,
        resumed=sum(one.resumed for one in statuses),
        skipped=first.skipped,  # each part reads the whole input
        demo=first.demo,
        identity=parts[0].identity,
        started=started,
        finished=finished,
        seconds=round((finished - started).total_seconds(), 3),
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
    sources = (part.folder / f"{Path(part.record.run).name}{suffix}" for part in parts)
    paths = [path for path in sources if path.is_file()]
    if not paths:
        target.unlink(missing_ok=True)  # of the run that is replaced
        return target
    with files.atomic_write(target) as stream:
        for path in paths:
            with path.open(encoding="utf-8", errors="backslashreplace", newline="") as source:
                shutil.copyfileobj(source, stream)
    return target
