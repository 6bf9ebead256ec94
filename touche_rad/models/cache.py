"""The cache of answers: one SQLite file, which several processes of a machine may share."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import UserError, refuse_newer
from touche_rad.events import log
from touche_rad.files.append_log import checked_line, read_checked
from touche_rad.files.records import make_folder, read_file
from touche_rad.text import redact, redact_line

CACHE_FILE: Final = "answers.sqlite"
VERSION: Final = 2
"""Version of the cache key; after a change older answers are not used."""
_LOCK_SECONDS: Final = 30.0
"""How long a connection waits for the locks of other processes."""

_TABLE: Final = """
CREATE TABLE answers (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, asked TEXT NOT NULL, answer TEXT NOT NULL,
  version INTEGER NOT NULL, kept REAL NOT NULL
) WITHOUT ROWID
"""
_SUPER_JOURNAL: Final = bytes.fromhex("d9d505f920a163d7")
"""The end of a journal with the name of a file that SQLite removes; no cache of ours has one."""
_SELECT: Final = "SELECT answer FROM answers WHERE key = ?"
_REMOVE_ERROR: Final = """DELETE FROM answers WHERE key = ? AND answer LIKE '{"error"%'"""
_INSERT: Final = "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)"


class Cache:
    """The valid answers in a folder, and the errors of requests that got none."""

    def __init__(self, folder: Path) -> None:
        """Open the cache, or make it."""
        self.folder = folder
        self._warned = False
        try:
            make_folder(folder)
            for suffix in ("", "-journal", "-wal", "-shm"):
                path = folder / f"{CACHE_FILE}{suffix}"
                is_ours = not path.is_symlink()
                if is_ours and suffix == "-journal" and path.exists():
                    is_ours = not read_file(path).endswith(_SUPER_JOURNAL)
                if not is_ours:
                    raise UserError(f"{path} is no file of a cache: remove it")
            # Made here, and used in the event loop's thread only.
            self._database = sqlite3.connect(
                folder / CACHE_FILE, timeout=_LOCK_SECONDS, check_same_thread=False
            )
            self._database.execute("PRAGMA synchronous=NORMAL")
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            refuse_newer(f"--cache {folder}", {"format": version}, VERSION)
            tables = self._database.execute("SELECT sql FROM sqlite_master").fetchall()
            if not tables:
                self._database.execute(f"PRAGMA user_version={VERSION}")
            elif [str(sql).split() for (sql,) in tables] != [_TABLE.split()]:
                raise UserError(f"{folder / CACHE_FILE} is no cache: choose another folder")
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute(_TABLE.replace("TABLE", "TABLE IF NOT EXISTS"))
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"--cache {folder}: the cache cannot be opened: {error}") from None

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer to a request, None if it is missing, or {} if it cannot be read."""
        try:
            row = self._database.execute(_SELECT, (key,)).fetchone()
        except sqlite3.Error as error:
            self._warn(f"cannot be read: {error}")
            return None
        if row is None:
            return None
        try:
            return read_checked(str(row[0]).encode(), lasting=True)
        except ValueError:
            return {}

    def remove(self, key: str) -> None:
        """Remove a damaged answer, so that another one can be stored."""
        with suppress(sqlite3.Error), self._database as database:
            database.execute("DELETE FROM answers WHERE key = ?", (key,))

    def put(
        self, key: str, body: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Store an answer, and return it or that of another process that stored one first.

        Both processes go on with the same answer, so that a replay gives the results of both. An
        error is replaced. A write error is only logged.
        """
        redacted = json.loads(redact_line(json.dumps(answer)))
        text = checked_line(redacted).decode()
        request = redact(json.dumps(body))
        row = (key, str(body.get("model", "")), request, text, VERSION, time.time())
        try:
            with self._database as database:
                database.execute(_REMOVE_ERROR, (key,))
                if not database.execute(_INSERT, row).rowcount:
                    (earlier,) = database.execute(_SELECT, (key,)).fetchone()
                    answer = read_checked(earlier.encode(), lasting=True)
        except sqlite3.Error as error:
            self._warn(f"cannot be written: {error}")
        return answer

    def _warn(self, what: str) -> None:
        """Log the first problem of the file; those after it are hardly different."""
        if not self._warned:
            log.warning("the cache in %s %s", self.folder, what)
            self._warned = True
