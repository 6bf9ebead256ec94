"""Open and build indexes by location, read what else they hold, and use a fallback index."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from touche_rad.debate import Argument, Hit
from touche_rad.errors import UserError, WorkError
from touche_rad.events import log
from touche_rad.lists import T
from touche_rad.plugins.contracts import (
    Annotations,
    ArgumentIndex,
    ClosableIndex,
    GetsAll,
    HasAnnotations,
    HasMeaning,
    HasVectors,
    IndexBackend,
    Meaning,
)
from touche_rad.plugins.registry import Plugin, Services, registered


def open_index(location: str) -> ArgumentIndex:
    """Open the index at a location."""
    return index_backend_of(location).open(location)


def build_index(
    arguments: Iterable[Argument],
    location: str,
    *,
    replace: bool = False,
    options: Mapping[str, str] | None = None,
) -> int:
    """Build an index at a location and return the number of its arguments."""
    return index_backend_of(location, options).build(arguments, location, replace=replace)


def index_backend_of(location: str, options: Mapping[str, str] | None = None) -> IndexBackend:
    """Return the backend that stores the index at a location.

    A location `NAME:ADDRESS` belongs to the backend NAME, a path to the first backend for paths.
    """
    plugins: Mapping[str, Plugin[IndexBackend]] = registered("index")
    plugin = plugins.get(location.partition(":")[0])
    if not plugin:
        servers: list[str] = []
        for name, backend in plugins.items():
            if not getattr(backend.factory, "for_paths", False):
                servers.append(f"{name}:{location}")
            elif not plugin and "://" not in location:
                plugin = backend
    if not plugin:
        advice = f"write {' or '.join(servers)}" if "://" in location and servers else "unknown"
        raise UserError(
            f"{location!r} is no location of an index: {advice} (backends: {', '.join(plugins)})"
        )
    return plugin.configure(options or {}).make(Services())


def arguments_by(index: ArgumentIndex, ids: Sequence[str]) -> list[Argument | None]:
    """Return the argument of each id, or None; in one request if the index supports it."""
    if isinstance(index, GetsAll):
        return index.get_all(ids)
    return [index.get(argument_id) for argument_id in ids]


def storage_of(index: ArgumentIndex) -> ArgumentIndex | None:
    """Return the index whose vectors, links and annotations belong to the arguments of an index.

    Callers that test it for a protocol declare it as `object`: mypy does not narrow a value that
    may be None to a protocol, and takes what follows for unreachable.
    """
    return index.same_storage if isinstance(index, FallbackIndex) else index


def meaning_of(index: ArgumentIndex) -> Meaning | None:
    """Return the semantic similarity of an index, or None if it has no usable vectors."""
    storage: object = storage_of(index)
    return storage.meaning if isinstance(storage, HasMeaning) else None


def vectors_of(index: ArgumentIndex) -> Mapping[str, str]:
    """Return a digest of the vectors by each encoder; they are not opened."""
    storage: object = storage_of(index)
    return storage.vectors if isinstance(storage, HasVectors) else {}


def annotations_of(index: ArgumentIndex) -> Mapping[str, Annotations]:
    """Return the annotations of an index by their name."""
    storage: object = storage_of(index)
    return storage.annotations if isinstance(storage, HasAnnotations) else {}


RETRY_AFTER: Final = 30.0
"""Seconds until the first index is tried again after a failure."""


class FallbackIndex(ArgumentIndex):
    """Uses the first index, and the fallback index while the first is unavailable.

    Only an unavailable server (WorkError) causes the fallback. A wrong password or index name is an
    error of the user and is raised.
    """

    def __init__(self, first: Callable[[], ArgumentIndex], fallback: ArgumentIndex) -> None:
        """Try to open the first index now, and later again if that fails."""
        self._open = first
        self._fallback = fallback
        self._lock = threading.Lock()
        self._first: ArgumentIndex | None = None
        self._retry_at = 0.0
        self._digests = ""
        """Of both indexes, if they have different arguments."""
        self._ask(lambda index: index.fingerprint)

    def _ask(self, call: Callable[[ArgumentIndex], T]) -> T:
        first = self._available()
        if first is not None:
            try:
                return call(first)
            except WorkError as error:
                with self._lock:
                    self._pause(error)
        return call(self._fallback)

    def _available(self) -> ArgumentIndex | None:
        with self._lock:
            if time.monotonic() < self._retry_at:
                return None
            if self._first is None:
                try:
                    self._first = self._open()
                    first_digest = self._first.fingerprint
                except WorkError as error:
                    self._pause(error)
                    return None
                fallback_digest = self._fallback.fingerprint
                if first_digest != fallback_digest:
                    self._digests = f"{first_digest} {fallback_digest}"
                    log.warning("the fallback index contains other arguments than the first")
            return self._first

    def _pause(self, error: WorkError) -> None:
        self._retry_at = time.monotonic() + RETRY_AFTER
        log.warning("the fallback index is used for %g s: %s", RETRY_AFTER, error)

    def __len__(self) -> int:
        return self._ask(len)

    @property
    def fingerprint(self) -> str:
        """The digest of the fallback index, and of the first one if it has other arguments."""
        return self._digests or self._fallback.fingerprint

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""
        return self._ask(lambda index: index.get(argument_id))

    def get_all(self, ids: Sequence[str]) -> list[Argument | None]:
        """Return the argument of each id, or None."""
        return self._ask(lambda index: arguments_by(index, ids))

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument of the fallback index, which cannot fail in the middle."""
        return self._fallback.arguments()

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search for many queries at once."""
        return self._ask(lambda index: index.search_all(field, queries, k))

    def close(self) -> None:
        """Close both indexes."""
        indexes: tuple[object, ...] = (self._first, self._fallback)
        for index in indexes:
            if isinstance(index, ClosableIndex):
                index.close()

    @property
    def same_storage(self) -> ArgumentIndex | None:
        """The fallback index, if it has the same arguments as the first one."""
        return None if self._digests else self._fallback


TOPIC_DEPTH: Final = 100
"""Hits of a search from which those on a topic are taken."""
_MOST_TOPICS: Final = 10
"""Topics that a text may be about."""


def find_topics(index: ArgumentIndex, texts: Iterable[str]) -> dict[str, float]:
    """Return how much texts are about each topic of an index; the best topic has 1.

    Each text counts equally. In a collection without topics, there are none.
    """
    hits: list[Hit] = []
    for topics in index.search_all("topics", list(dict.fromkeys(texts)), _MOST_TOPICS):
        hits += [hit.replace(score=hit.score / topics[0].score) for hit in topics]
    return topics_of(hits)


def topics_of(hits: Iterable[Hit]) -> dict[str, float]:
    """Return how much the text of a search in all fields is about each topic.

    Each hit counts for its topic, if it has one, with its score. The best topic has 1.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for hit in hits:
        if hit.argument.topic:
            weights[hit.argument.topic] += hit.score
    best_weight = max(weights.values(), default=0.0) or 1.0
    return {topic: weight / best_weight for topic, weight in weights.items()}
