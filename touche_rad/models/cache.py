"""The cache of answers: one SQLite file shared by processes, and locks on equal requests."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import anyio

from touche_rad.errors import UserError, refuse_newer
from touche_rad.text import redact, redact_line

log = logging.getLogger("touche_rad")

CACHE_FILE: Final = "answers.sqlite"
VERSION: Final = 2
"""Version of the cache key; after a change older answers are not used."""
WAIT: Final = 30.0

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS answers (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, asked TEXT NOT NULL, answer TEXT NOT NULL,
  digest TEXT NOT NULL, version INTEGER NOT NULL, kept REAL NOT NULL
) WITHOUT ROWID
"""
_COLUMNS: Final = ("key", "model", "asked", "answer", "digest", "version", "kept")


@dataclass(frozen=True)
class Row:
    """One row of the cache."""

    key: str
    model: str
    asked: str
    answer: str
    digest: str
    version: int
    kept: float

    @property
    def whole(self) -> bool:
        """Whether the answer matches its checksum."""
        return _digest(self.answer) == self.digest


class Cache:
    """The valid answers in a folder."""

    def __init__(self, folder: Path, *, make: bool = True, behind: Path | None = None) -> None:
        """Open the cache.

        Args:
            folder: Its folder.
            make: Create it if it does not exist.
            behind: The folder of another cache, of which answers are only read.
        """
        self.folder = folder
        self._behind = Behind(behind) if behind is not None else None
        self._added: list[Row] | None = None
        self._local = threading.local()
        self._warned = False
        if not make and not (folder / CACHE_FILE).is_file():
            raise UserError(f"{folder}: no cache here (expected {CACHE_FILE} in the folder)")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._opened() as database:
                (found,) = database.execute("PRAGMA user_version").fetchone()
                refuse_newer(f"--cache {folder}", {"format": found}, VERSION)
                if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    database.execute(f"PRAGMA user_version={VERSION}")
                database.execute(f"PRAGMA journal_mode={_journal_mode(folder)}")
                database.execute(_TABLE)
                have = {row[1] for row in database.execute("PRAGMA table_info(answers)")}
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"--cache {folder}: the cache cannot be opened: {error}") from None
        if have != set(_COLUMNS):
            raise UserError(f"--cache {folder}: cache of another version; use another folder")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        database = getattr(self._local, "database", None)
        if database is None:
            database = sqlite3.connect(self.folder / CACHE_FILE, timeout=WAIT, isolation_level=None)
            if _journal_mode(self.folder) == "WAL":  # only a power cut can lose the last answers
                database.execute("PRAGMA synchronous=NORMAL")
            self._local.database = database
        yield database

    def __len__(self) -> int:
        with self._opened() as database:
            return int(database.execute("SELECT count(*) FROM answers").fetchone()[0])

    def rows(self) -> Iterator[Row]:
        """Yield all rows in the order of their keys."""
        with self._opened() as database:
            found = database.execute(f"SELECT {', '.join(_COLUMNS)} FROM answers ORDER BY key")
            for row in found:
                yield Row(*row)

    def add(self, rows: Iterable[Row]) -> int:
        """Add undamaged rows of another cache that are not here yet; return how many."""
        before = len(self)
        self.insert(rows)
        with self._opened() as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the file is complete by itself
        return len(self) - before

    def insert(self, rows: Iterable[Row]) -> None:
        """Add undamaged rows of another cache that are not here yet."""
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

    def remove(self, keys: Iterable[str]) -> int:
        """Delete rows, free their space, and return how many there were."""
        before = len(self)
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("DELETE FROM answers WHERE key = ?", ((key,) for key in keys))
            database.execute("COMMIT")
            database.execute("VACUUM")
        return before - len(self)

    def has(self, key: str) -> bool:
        """Whether there is an undamaged answer to a request."""
        return self.get(key) is not None

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer to a request, or None if it is missing or damaged."""
        try:
            with self._opened() as database:
                row = database.execute(
                    "SELECT answer, digest FROM answers WHERE key = ?", (key,)
                ).fetchone()
        except sqlite3.Error as error:
            self._warn(f"cannot be read: {error}")
            return None
        if row is None:
            return self._behind.get(key) if self._behind is not None else None
        answer, digest = row
        if _digest(answer) != digest:
            self._warn("has a damaged answer; the model is called again")
            return None
        found: Mapping[str, Any] = json.loads(answer)
        return found

    def put(self, key: str, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Store an answer; a write error is only logged."""
        text = redact_line(json.dumps(answer, ensure_ascii=True))
        asked = redact(json.dumps(body, ensure_ascii=True))
        model = str(body.get("model", ""))
        row = (key, model, asked, text, _digest(text), VERSION, time.time())
        try:
            with self._opened() as database:
                database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            if self._added is not None:
                self._added.append(Row(*row))
        except sqlite3.Error as error:
            self._warn(f"cannot be written: {error}")

    def take(self) -> list[Row]:
        """Return the rows that were stored since the last call; the first call begins with this."""
        taken, self._added = self._added, []
        return taken or []

    def _warn(self, what: str) -> None:
        if not self._warned:
            log.warning("the cache in %s %s", self.folder, what)
            self._warned = True


class Behind:
    """Another cache whose answers are only read, so that many machines can read it at a time."""

    def __init__(self, folder: Path) -> None:
        """Open the cache in a folder; a folder without a cache has no answers."""
        self._folder = folder
        self._local = threading.local()

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer to a request, or None if it is missing, damaged or unreadable."""
        try:
            row = (
                self._database()
                .execute("SELECT answer, digest FROM answers WHERE key = ?", (key,))
                .fetchone()
            )
        except sqlite3.Error as error:
            log.debug("the cache in %s cannot be read", self._folder, exc_info=error)
            return None
        if row is None or _digest(row[0]) != row[1]:
            return None
        found: Mapping[str, Any] = json.loads(row[0])
        return found

    def _database(self) -> sqlite3.Connection:
        database: sqlite3.Connection | None = getattr(self._local, "database", None)
        if database is None:
            place = f"{(self._folder / CACHE_FILE).absolute().as_uri()}?mode=ro"
            if network_file_system(self._folder):
                place += "&immutable=1"  # without locks and shared memory
            database = sqlite3.connect(place, timeout=WAIT, uri=True)
            self._local.database = database
        return database


_NETWORK: Final = frozenset(
    (
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "lustre",
        "gpfs",
        "beegfs",
        "ceph",
        "glusterfs",
        "fuse.glusterfs",
        "fuse.sshfs",
        "fuse.s3fs",
        "fuse.ceph",
        "afs",
        "9p",
        "pvfs2",
        "orangefs",
    )
)
"""File systems of other machines, by their names in /proc/mounts."""
MOUNTS: Final = Path("/proc/mounts")


def network_file_system(path: Path) -> str:
    """Return the name of the network file system that a path lies on; empty on a local one."""
    place = path.absolute()
    best, found = Path("/"), ""
    try:
        rows = [line.split() for line in MOUNTS.read_text("utf-8", "replace").splitlines()]
    except OSError:  # not on Linux
        return ""
    for row in rows:
        at = Path(row[1].replace("\\040", " "))
        if at in (place, *place.parents) and len(at.parts) >= len(best.parts):
            best, found = at, row[2]
    return found if found in _NETWORK else ""


def _journal_mode(folder: Path) -> str:
    """Return SQLite's journal mode: WAL shares memory, so that all must be on one machine."""
    return "TRUNCATE" if network_file_system(folder) else "WAL"


def _digest(text: str) -> str:
    return hashlib.sha256(str(text).encode("ascii", "replace")).hexdigest()[:32]


LOCK_FILE: Final = "asked.lock"
_PLACES: Final = 2**31
_SHORTEST, _LONGEST = 0.02, 0.5


@cache
def _opened(folder: Path) -> int | None:
    """Open the lock file once per process, because closing it releases every lock."""
    try:
        return os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        log.info("the cache in %s cannot lock requests: %s", folder, error)
        return None


@asynccontextmanager
async def request_lock(folder: Path, key: str, left: Callable[[], float]) -> AsyncIterator[None]:
    """Wait while another process sends the same request; a killed process loses its lock.

    Each request is one byte of a lock file. If files cannot be locked or no time is left, the
    request is sent anyway.
    """
    locks = _locks()
    file = _opened(folder) if locks else None
    if locks is None or file is None:
        yield
        return
    place = int(key[:16], 16) % _PLACES
    held = await _taken(locks, file, place, left)
    try:
        yield
    finally:
        if held:
            locks.lockf(file, locks.LOCK_UN, 1, place)


async def _taken(locks: ModuleType, file: int, place: int, left: Callable[[], float]) -> bool:
    pause = _SHORTEST
    while left() > pause:
        try:
            locks.lockf(file, locks.LOCK_EX | locks.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST)
        except OSError:
            return False
        else:
            return True
    return False


def _locks() -> ModuleType | None:
    try:
        import fcntl
    except ImportError:  # not on Windows
        return None
    return fcntl
