"""A line for each call: what was asked, what came back, what went wrong. No key is in it."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touche_rad.models.endpoint import without_key

log = logging.getLogger("touche_rad")


class Trace:
    """A file of JSON lines; one that cannot be written costs no answer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._told = False

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a call."""
        line = without_key(json.dumps(record, ensure_ascii=True)) + "\n"
        try:
            with self._lock, self.path.open("a", encoding="ascii") as out:
                out.write(line)
        except OSError as error:
            if not self._told:
                log.warning("the trace %s cannot be written: %s", self.path, error)
                self._told = True
