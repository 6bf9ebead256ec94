"""Answers that were given before, in one SQLite file that many processes share."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import UserError
from touche_rad.secret import without_secrets

log = logging.getLogger("touche_rad")

FILE: Final = "answers.sqlite"
VERSION: Final = 2
"""What a key is made of; a change makes every older answer unfound, not wrong."""
WAIT: Final = 30.0

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS answers (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, asked TEXT NOT NULL, answer TEXT NOT NULL,
  digest TEXT NOT NULL, version INTEGER NOT NULL, kept REAL NOT NULL
) WITHOUT ROWID
"""
_COLUMNS: Final = ("key", "model", "asked", "answer", "digest", "version", "kept")


def key_of(body: Mapping[str, Any]) -> str:
    """Return what a request is known by: all that it asks, in a fixed order."""
    canonical = json.dumps([VERSION, body], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Row:
    """An answer as it is kept."""

    key: str
    model: str
    asked: str
    answer: str
    digest: str
    version: int
    kept: float

    @property
    def whole(self) -> bool:
        """Whether it is what was put in."""
        return _digest(self.answer) == self.digest


class Cache:
    """A folder's answers. Only answers that were valid are put in."""

    def __init__(self, folder: Path, *, make: bool = True) -> None:
        """Open the cache, making it where there is none and that is wanted."""
        self.folder = folder
        self._local = threading.local()
        self._told = False
        if not make and not (folder / FILE).is_file():
            raise UserError(f"{folder}: there is no cache (expected {FILE} in it)")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._opened() as database:
                database.execute("PRAGMA journal_mode=WAL")
                database.execute(_TABLE)
                have = {row[1] for row in database.execute("PRAGMA table_info(answers)")}
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"--cache {folder}: the cache cannot be opened: {error}") from None
        if have != set(_COLUMNS):
            raise UserError(f"--cache {folder}: another version's cache; name another folder")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        database = getattr(self._local, "database", None)
        if database is None:
            database = sqlite3.connect(self.folder / FILE, timeout=WAIT, isolation_level=None)
            self._local.database = database
        yield database

    def __len__(self) -> int:
        with self._opened() as database:
            return int(database.execute("SELECT count(*) FROM answers").fetchone()[0])

    def rows(self) -> Iterator[Row]:
        """Yield all that is kept, in the order of the keys."""
        with self._opened() as database:
            found = database.execute(f"SELECT {', '.join(_COLUMNS)} FROM answers ORDER BY key")
            for row in found:
                yield Row(*row)

    def add(self, rows: Iterable[Row]) -> int:
        """Take over whole rows of another cache; what is here already stays. Return how many."""
        before = len(self)
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            marks = ", ".join("?" * len(_COLUMNS))
            for row in rows:
                if row.whole:
                    database.execute(
                        f"INSERT OR IGNORE INTO answers VALUES ({marks})",
                        tuple(getattr(row, name) for name in _COLUMNS),
                    )
            database.execute("COMMIT")
        return len(self) - before

    def remove(self, keys: Iterable[str]) -> int:
        """Forget answers, give their room back, and return how many there were."""
        before = len(self)
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("DELETE FROM answers WHERE key = ?", ((key,) for key in keys))
            database.execute("COMMIT")
            database.execute("VACUUM")
        return before - len(self)

    def has(self, key: str) -> bool:
        """Whether there is a whole answer to a request."""
        return self.get(key) is not None

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return a request's answer, or None; one that is damaged is as none."""
        try:
            with self._opened() as database:
                row = database.execute(
                    "SELECT answer, digest FROM answers WHERE key = ?", (key,)
                ).fetchone()
        except sqlite3.Error as error:
            self._tell(f"cannot be read: {error}")
            return None
        if row is None:
            return None
        answer, digest = row
        if _digest(answer) != digest:
            self._tell("holds a damaged answer, which is asked for again")
            return None
        found: Mapping[str, Any] = json.loads(answer)
        return found

    def put(self, key: str, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Keep an answer; a cache that cannot be written costs calls later and no answer now."""
        told = json.dumps(answer, ensure_ascii=True)
        asked = without_secrets(json.dumps(body, ensure_ascii=True))
        model = str(body.get("model", ""))
        row = (key, model, asked, told, _digest(told), VERSION, time.time())
        try:
            with self._opened() as database:
                database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            self._tell(f"cannot be written: {error}")

    def _tell(self, what: str) -> None:
        if not self._told:
            log.warning("the cache in %s %s", self.folder, what)
            self._told = True


def _digest(text: str) -> str:
    return hashlib.sha256(str(text).encode("ascii", "replace")).hexdigest()[:32]
