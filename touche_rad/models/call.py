"""One request of a plugin to the model, and its line in the trace."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from touche_rad.models.context import CallContext, current_context
from touche_rad.models.usage import Cost
from touche_rad.secrets import redact


@dataclass
class Call:
    """What it is counted under, when it must be over, and what it has cost so far."""

    step: str
    context: CallContext
    end: float
    cost: Cost = field(default_factory=Cost)

    @classmethod
    def now(cls, step: str, seconds: float) -> Call:
        """Start a call with this time limit, or the earlier deadline of the context."""
        here = current_context()
        end = time.monotonic() + seconds
        return cls(step, here, end if here.deadline is None else min(end, here.deadline))

    @property
    def left(self) -> float:
        """How many seconds are left."""
        return self.end - time.monotonic()


log = logging.getLogger("touche_rad")


class Trace:
    """A file of JSON lines, or none; one that cannot be written costs no answer."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._told = False

    def tell(
        self,
        call: Call,
        body: Mapping[str, Any],
        answer: Mapping[str, Any] | None,
        *,
        fault: str = "",
        begun: float | None = None,
    ) -> None:
        """Append what was sent and what came of it; what the cache answered never began."""
        seconds = None if begun is None else round(time.monotonic() - begun, 4)
        self._write({
            **call.context.record(), "step": call.step, "cached": begun is None,
            "seconds": seconds, "asked": body, "answer": answer, "fault": fault,
        })  # fmt: skip

    def _write(self, record: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        line = redact(json.dumps(record, ensure_ascii=True)) + "\n"
        try:
            with self._lock, self.path.open("a", encoding="ascii") as out:
                out.write(line)
        except OSError as error:
            if not self._told:
                log.warning("the trace %s cannot be written: %s", self.path, error)
                self._told = True
