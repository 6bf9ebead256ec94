"""Parts of a run: `--shard I/N` processes one range of the input's debates.

A part is a folder with this range of the output, the records of its debates, and `part.json`: what
`merge` needs to make the files of the whole run. Debates have the same numbers in all parts as in
the whole run, so that nothing depends on the part that processes a debate.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field

from touche_rad import files
from touche_rad.errors import OptionError, UserError, WorkError, refuse_newer
from touche_rad.files.outputs import Status, is_output_of
from touche_rad.files.records import read_json
from touche_rad.models.sending import Usage
from touche_rad.runs.output import SUFFIX, Facts, Output, read_record, record_line, short_json
from touche_rad.runs.shard import Shard
from touche_rad.runs.work import Done
from touche_rad.text import redact_data

RECORD: Final = "part.json"
UNITS: Final = "units.jsonl"
CACHE: Final = "cache"
FORMAT: Final = 1
SHARD: Final = "shard"
"""The key of the shard in the identity of a part."""


class PartRecord(BaseModel):
    """The content of `part.json`."""

    format: int = FORMAT
    shard: int
    of: int
    total: int = Field(ge=0)
    run: str
    source: str
    command: tuple[str, ...]
    settings: tuple[str, ...] = ()
    skipped: str = ""
    model: tuple[str, ...] = ()
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
        return _read(self.folder).record.status if is_output_of(out, identity) else None

    def finish(self, output: Output, status: Status) -> None:
        """Write the records of all units, then `part.json`, with which the part is complete."""
        with files.atomic_write(self.folder / UNITS) as stream:
            for number, done in output.numbered():
                stream.write(record_line(number, done).decode("utf-8"))
        facts = output.facts()
        record = PartRecord(
            shard=self.shard.number,
            of=self.shard.count,
            total=output.total,
            run=str(self.run),
            source=str(self.source),
            command=self.command,
            settings=facts.settings,
            skipped=facts.skipped,
            model=facts.model,
            usage=facts.usage.record() if facts.usage is not None else None,
            status=status,
        ).model_dump(mode="json")
        with files.atomic_write(self.folder / RECORD) as stream:
            stream.write(json.dumps(redact_data(record), ensure_ascii=False, indent=2) + "\n")


@dataclass(frozen=True)
class FinishedPart:
    """A complete part, as it is read."""

    folder: Path
    shard: Shard
    record: PartRecord
    facts: Facts

    @property
    def output(self) -> Path:
        """This part of the run's output."""
        return self.folder / Path(self.record.run).name

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
    """Read the parts in folders; a folder may be a part, or contain parts.

    Raises:
        UserError: A folder is missing or has no part, or a part is not finished.
    """
    parts: list[FinishedPart] = []
    for place in places:
        if not place.is_dir():
            raise UserError(f"{place} is no folder: expected a folder that --shard I/N made")
        folders = [place] if _is_part(place) else sorted(filter(_is_part, place.iterdir()))
        if not folders:
            raise UserError(
                f"{place} has no part of a run: expected a folder that --shard I/N made"
            )
        parts += map(_read, folders)
    return parts


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
        record = PartRecord.model_validate(content)
        usage = None if record.usage is None else Usage()
        if usage is not None and record.usage is not None:
            usage.add(record.usage)
        facts = Facts(record.settings, record.skipped, record.model, usage)
        return FinishedPart(folder, Shard.parse(f"{record.shard}/{record.of}"), record, facts)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OptionError):
        raise UserError(f"{path} is damaged: remove {folder}, and make the part again") from None


def check_parts(parts: Sequence[FinishedPart]) -> list[FinishedPart]:
    """Return the parts in order if they are all parts of one run, each once.

    Raises:
        UserError: A part is missing, given twice, or of another run.
    """
    first, count = parts[0], parts[0].shard.count
    by_number: dict[int, FinishedPart] = {}
    for one in parts:
        if one.shard.count != count:
            raise UserError(
                f"{first.folder} is shard {first.shard} and {one.folder} is shard {one.shard}: "
                f"give the parts of one number of shards, such as "
                f"{first.folder.parent}/*-of-{count}"
            )
        mine, other = (
            {**part.identity, "number of debates": part.record.total} for part in (first, one)
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
    for number in range(1, count + 1):
        if number not in by_number:
            shard, others = Shard(number, count), count - len(by_number) - 1
            more = f" ({others} more are missing)" if others else ""
            raise UserError(f"shard {shard} is missing{more}: make it: {first.command(shard)}")
    return [by_number[number] for number in sorted(by_number)]
