"""The status record: what a run did, skipped and replaced.

TIRA drops the exit code, so whatever a person must know of a run stands in `status.json` beside it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from touche_rad import __version__, files
from touche_rad.debate import Debate
from touche_rad.runs.journal import Done
from touche_rad.secrets import redact_data

State = Literal["done", "stopped", "failed"]

MOST_EXAMPLES = 5
REPLACED = "replaced"
"""The count of things that stand in for what the chosen plugin should have given."""


class Status(BaseModel):
    """What a run did. `counts` counts what was made, `notes` what was done to it on the way."""

    model_config = ConfigDict(frozen=True)

    verb: str
    state: State
    error: str | None = None
    output: str = ""
    units: int | None = None
    done: int = 0
    resumed: int = 0
    skipped: int = 0
    replaced: int = 0
    counts: Mapping[str, int] = Field(default_factory=dict)
    notes: Mapping[str, int] = Field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    identity: Mapping[str, Any] = Field(default_factory=dict)
    usage: Mapping[str, Any] = Field(default_factory=dict)
    """What asking a model cost this time; an earlier, killed run's cost is not in it."""
    started: datetime
    finished: datetime
    seconds: float
    version: str = __version__

    @classmethod
    def failed(cls, verb: str, error: BaseException) -> Status:
        """Return the status of a run that could not even begin."""
        now = datetime.now().astimezone()
        return cls(
            verb=verb, state="failed", error=str(error), started=now, finished=now, seconds=0
        )

    def lines(self) -> list[str]:
        """Say it to a person, in short lines."""
        made = ", ".join(f"{count} {what}" for what, count in self.counts.items())
        of = "" if self.units in (None, self.done) else f" of {self.units}"
        first = f"{self.verb}: {self.done}{of} {self.state} in {self.seconds:.1f} s"
        said = [f"{first} ({made})" if made else first]
        if self.resumed:
            said.append(f"{self.resumed} of them were taken over from an earlier run")
        said.extend(f"{kind}: {count}" for kind, count in self.notes.items())
        if self.usage:
            said.append(_cost(self.usage["total"]))
        said.extend(f"warning: {warning}" for warning in self.warnings)
        return said


def _cost(total: Mapping[str, Any]) -> str:
    parts = [f"{total['calls']} calls", f"{total['from_cache']} answers from the cache"]
    parts.append(f"{total['prompt_tokens']} + {total['completion_tokens']} tokens")
    if total["prompt_letters"]:
        share = total["shared_letters"] / total["prompt_letters"]
        parts.append(f"{share:.0%} of the prompts shared")
    if total["failures"]:
        parts.append(f"{total['failures']} failed")
    return f"model: {', '.join(parts)}"


def at_turn(note: str, debate: Debate, turn: int) -> str:
    """Return a note with the place it happened at, after its kind."""
    kind, _, what = note.partition(": ")
    return f"{kind}: debate {debate.id or '?'}, turn {turn + 1}: {what}"


class Tally:
    """Adds up what finished units tell."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}

    def add(self, done: Done) -> None:
        """Add one unit; of each kind of note the first few are kept in full."""
        self.counts.update(done.counts)
        for note in done.notes:
            kind, _, what = note.partition(": ")
            self.notes[kind] += 1
            examples = self.examples.setdefault(kind, [])
            if len(examples) < MOST_EXAMPLES:
                examples.append(what)

    def fields(self) -> dict[str, Any]:
        """Return what a status says of them."""
        counts = dict(self.counts)
        return {
            "replaced": counts.pop(REPLACED, 0),
            "counts": counts,
            "notes": dict(self.notes.most_common()),
            "examples": {kind: tuple(few) for kind, few in self.examples.items()},
        }


def write_status(status: Status, path: Path) -> None:
    """Write the record, whole or not at all."""
    with files.atomic_write(path) as stream:
        told = redact_data(status.model_dump(mode="json"))
        stream.write(json.dumps(told, ensure_ascii=False, indent=2) + "\n")


def sha256_of(path: Path) -> str:
    """Return the digest of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
