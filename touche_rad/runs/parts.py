"""Parts of a run: `--shard I/N` processes one range of the input's debates.

A part is a folder with this range of the output, the records of its debates, and `part.json`: what
`merge` needs to make the files of the whole run. Debates have the same numbers in all parts as in
the whole run, so that nothing depends on the part that processes a debate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from touche_rad import files
from touche_rad.errors import OptionError, UserError, WorkError, refuse_newer
from touche_rad.files.outputs import Status, is_output_of
from touche_rad.files.records import read_json
from touche_rad.models.usage import Usage
from touche_rad.runs.journal import (
    SUFFIX,
    Done,
    Facts,
    Journal,
    as_written,
    read_record,
    record_line,
    shown,
)
from touche_rad.runs.shard import Shard
from touche_rad.text import redact_data

RECORD: Final = "part.json"
UNITS: Final = "units.jsonl"
CACHE: Final = "cache"
FORMAT: Final = 1
SHARD: Final = "shard"
"""The key of the shard in the identity of a part."""


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

    def units(self, total: int) -> range:
        """Return the numbers of its units, if the input has `total`."""
        return self.shard.units(total)

    def others_missing(self) -> list[Shard]:
        """Return the other shards of the run that are not complete in this place."""
        shards = (Shard(number, self.shard.count) for number in range(1, self.shard.count + 1))
        return [
            one
            for one in shards
            if one != self.shard and not (one.folder(self.run) / RECORD).is_file()
        ]

    def finished(self, out: Path, identity: Mapping[str, Any]) -> Status | None:
        """Return the status of this part if it is complete already, with the same identity."""
        if _is_begun(self.folder) or not (self.folder / RECORD).is_file():
            return None
        status = _read(self.folder).status
        return status if is_output_of(out, as_written(identity)) else None

    def finish(self, journal: Journal, status: Status, total: int, facts: Facts) -> None:
        """Write the records of all units, then `part.json`, with which the part is complete."""
        with files.atomic_write(self.folder / UNITS) as stream:
            for number, done in journal.numbered():
                stream.write(record_line(number, done).decode("utf-8"))
        record = {
            "format": FORMAT,
            "shard": self.shard.number,
            "of": self.shard.count,
            "total": total,
            "run": str(self.run),
            "source": str(self.source),
            "command": list(self.command),
            "settings": list(facts.settings),
            "skipped": facts.skipped,
            "model": list(facts.model),
            "usage": facts.usage.record() if facts.usage is not None else None,
            "status": status.model_dump(mode="json"),
        }
        with files.atomic_write(self.folder / RECORD) as stream:
            stream.write(json.dumps(redact_data(record), ensure_ascii=False, indent=2) + "\n")


class _Record(BaseModel):
    """The content of `part.json`."""

    model_config = ConfigDict(frozen=True, strict=True)

    shard: int
    of: int
    total: int = Field(ge=0)
    run: str
    source: str
    command: tuple[str, ...] = Field(strict=False)
    settings: tuple[str, ...] = Field((), strict=False)
    skipped: str = ""
    model: tuple[str, ...] = Field((), strict=False)
    usage: Mapping[str, Any] | None
    status: Annotated[Status, Field(strict=False)]


@dataclass(frozen=True)
class FinishedPart:
    """A complete part, as it is read."""

    folder: Path
    shard: Shard
    record: _Record
    status: Status

    @property
    def total(self) -> int:
        """The number of units of the whole run."""
        return self.record.total

    @property
    def output(self) -> Path:
        """This part of the run's output."""
        return self.folder / Path(self.record.run).name

    @property
    def identity(self) -> dict[str, Any]:
        """The identity of the whole run."""
        return {key: value for key, value in self.status.identity.items() if key != SHARD}

    def units(self) -> Iterator[Done]:
        """Yield its units in the order of the input.

        Raises:
            WorkError: The file of the records is damaged.
        """
        path = self.folder / UNITS
        try:
            with path.open("rb") as stream:
                for expected, line in zip(self.shard.units(self.total), stream, strict=True):
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
        return command_of(self.record.command, shard)


def command_of(words: Sequence[str], shard: Shard) -> str:
    """Return the command line of a part for another shard."""
    import shlex

    changed: list[str] = []
    for word in words:
        previous = changed[-1] if changed else ""
        if previous == "--shard":
            word = str(shard)
        elif word.startswith("--shard="):
            word = f"--shard={shard}"
        changed.append(word)
    return shlex.join(["touche-rad", *changed])


def find_parts(places: Sequence[Path]) -> list[FinishedPart]:
    """Read the parts in folders; a folder may be a part, or contain parts.

    Raises:
        UserError: A folder is missing or has no part, or a part is not finished.
    """
    found: list[FinishedPart] = []
    for place in places:
        if not place.is_dir():
            raise UserError(f"{place} is no folder: expected a folder that --shard I/N made")
        if (place / RECORD).is_file() or _is_begun(place):
            folders = [place]
        else:
            inner = sorted(place.iterdir())
            folders = [one for one in inner if (one / RECORD).is_file() or _is_begun(one)]
        if not folders:
            raise UserError(
                f"{place} has no part of a run: expected a folder that --shard I/N made"
            )
        found += map(_read, folders)
    return found


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
        record = read_json(path)
        refuse_newer(path, record, FORMAT)
        read = _Record.model_validate(record)
        shard = Shard.parse(f"{read.shard}/{read.of}")
        Usage().add(read.usage or Usage().record())  # it can be added
        return FinishedPart(folder, shard, read, read.status)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OptionError):
        raise UserError(f"{path} is damaged: remove {folder}, and make the part again") from None


def check_parts(parts: Sequence[FinishedPart]) -> list[FinishedPart]:
    """Return the parts in order if they are all parts of one run, each once.

    Raises:
        UserError: A part is missing, given twice, or of another run.
    """
    first = parts[0]
    for one in parts:
        if one.shard.count != first.shard.count:
            raise UserError(
                f"{first.folder} is shard {first.shard} and {one.folder} is shard {one.shard}: "
                f"give the parts of one number of shards, such as "
                f"{first.folder.parent}/*-of-{first.shard.count}"
            )
        for key in [*first.identity, *one.identity]:
            was, now = first.identity.get(key), one.identity.get(key)
            if was != now or one.total != first.total:
                key = key if was != now else "number of debates"
                both = f"{shown(was)} and {shown(now)}" if was != now else "another"
                raise UserError(
                    f"{first.folder} and {one.folder} are parts of different runs: {key} is "
                    f"{both}; make one again with the command of the other: "
                    f"{first.command(one.shard)}"
                )
    by_number: dict[int, FinishedPart] = {}
    for one in parts:
        other = by_number.setdefault(one.shard.number, one)
        if other is not one:
            if other.folder.resolve() == one.folder.resolve():
                continue
            raise UserError(
                f"shard {one.shard} is given twice: {other.folder} and {one.folder}: leave one out"
            )
    for number in range(1, first.shard.count + 1):
        if number not in by_number:
            missing = Shard(number, first.shard.count)
            others = first.shard.count - len(by_number) - 1
            more = f" ({others} more are missing)" if others else ""
            raise UserError(f"shard {missing} is missing{more}: make it: {first.command(missing)}")
    return [by_number[number] for number in sorted(by_number)]
