"""Load a collection into a new index, then switch the alias to it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from itertools import islice
from typing import IO, Any, Final

from retrieval.elastic import shape
from retrieval.elastic.connection import (
    WRITING_TRY,
    Connection,
    check_id,
    log,
    place,
)
from retrieval.index.analyser import PARTS, tokens
from retrieval.index.statements import ROLES, StatementGroups
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError

BATCH: Final = 1_000
"""Arguments per batch."""
BYTES: Final = 900_000
"""Maximum size of a request, unless a single document is larger; proxies often allow 1 MiB."""
_EXISTS: Final = 409
_MERGE_SECONDS: Final = 4 * 3600.0
"""Maximum time of a merge: a large index with vectors takes long."""

Pair = tuple[Mapping[str, Any], Any]
"""A bulk action and its document, which may be JSON already."""


@dataclass(frozen=True)
class Spool:
    """A collection without duplicates, in a temporary file: a line with the id, one the document.

    The documents lack their end, which has the groups of statements: they are known at last.
    """

    file: IO[bytes]
    count: int
    digest: str
    groups: Any

    def pairs(self, concrete: str) -> Iterator[Pair]:
        """Yield the bulk actions that create the documents, in order.

        "create" keeps the first copy of an argument that is sent twice; "index" would replace it,
        and a replaced copy counts in the scores until segments are merged.
        """
        self.file.seek(0)
        lines = zip(self.file, self.file, self.groups, strict=True)
        for order, (name, document, groups) in enumerate(lines):
            action = {"create": {"_index": concrete, "_id": json.loads(name)}}
            yield action, document[:-1] + shape.end(order, groups.tolist())


@contextmanager
def spooled(arguments: Iterable[Argument]) -> Iterator[Spool]:
    """Write the arguments' documents to a temporary file and check their ids."""
    digest, gathering = sha256(), StatementGroups()
    analysed = lru_cache(BATCH)(tokens)  # arguments of a topic share texts
    with tempfile.TemporaryFile() as file:
        for line in _lines(arguments, digest):
            record = json.loads(line)
            stems = {part: analysed(record.get(part) or "") for part in PARTS}
            gathering.add(stems[role] for role in ROLES)
            name = json.dumps(shape.sendable(record["id"]))
            file.write(f"{name}\n{shape.begin(record, line, stems)}\n".encode())
        groups = gathering.groups()
        if not len(groups):
            raise UserError("the collection contains no argument")
        yield Spool(file, len(groups), digest.hexdigest(), groups)


def _lines(arguments: Iterable[Argument], digest: Any) -> Iterator[str]:
    """Yield the JSON of each argument once, and add it to the digest."""
    count, seen = 0, dict[int, int]()  # hashes of ids and of their lines
    for argument in arguments:
        line = files.argument_line(argument)
        name = shape.sendable(argument.id)
        check_id(name)
        known = seen.setdefault(hash(name), hash(line))
        if known != hash(line):
            sent = "" if name == argument.id else f" ({argument.id!r} is sent as this id)"
            raise UserError(f"two different arguments have the id {name!r}{sent}")
        if len(seen) > count:
            count += 1
            digest.update(line.encode("utf-8") + b"\n")
            yield line


def send(connection: Connection, pairs: Iterable[Pair]) -> None:
    """Send bulk actions with their documents; what the server did not answer is sent again."""
    iterator = iter(pairs)
    while batch := list(islice(iterator, BATCH)):
        failures = connection.ask(partial(_failures, batch), one_try=WRITING_TRY)
        for fault in filter(None, map(_fault, failures)):
            raise WorkError(f"{connection.where}: {fault}")


def _failures(batch: Sequence[Pair], es: Any) -> list[Mapping[str, Any]]:
    """Send a batch; return the actions that failed, after retries of those that were too many."""
    from elasticsearch.helpers import streaming_bulk

    results = streaming_bulk(
        es,
        batch,
        expand_action_callback=lambda pair: pair,
        max_chunk_bytes=BYTES,
        max_retries=3,
        initial_backoff=0.5,
        raise_on_error=False,
    )
    return [item for done, item in results if not done]


def _fault(item: Mapping[str, Any]) -> str:
    ((kind, done),) = item.items()
    error = done.get("error")
    if not error or (kind == "create" and done.get("status") == _EXISTS):
        return ""
    reason = error.get("reason") if isinstance(error, dict) else error
    why = " ".join(str(reason).split())[:200]
    return f"the server rejected the argument {done.get('_id')!r}: {why}"


def load(
    arguments: Iterable[Argument],
    location: str,
    *,
    replace: bool,
    shards: int,
    replicas: int,
) -> int:
    """Build an index and return the number of its arguments."""
    connection = Connection(place(location))
    before = _standing(connection, replace=replace)
    with spooled(arguments) as spool:
        body = {
            "settings": shape.settings(shards, replicas),
            "mappings": shape.mapping(spool.digest, spool.count),
        }
        concrete = f"{connection.where.index}-{_short_digest(body)}-{shape.FORMAT}"
        connection.ask(partial(_create, index=concrete, body=body))
        send(connection, spool.pairs(concrete))
        _finish(connection, concrete, spool.count)
    _rename(connection, concrete, before)
    return spool.count


def _short_digest(body: Mapping[str, Any]) -> str:
    """Return a digest of settings and collection: part of the index's own name."""
    return sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:12]


def _standing(connection: Connection, *, replace: bool) -> list[str]:
    """Return the indexes behind the alias, which are to be replaced."""
    name = connection.where.index
    if not connection.ask(lambda es: bool(es.indices.exists(index=name))):
        return []
    found = connection.ask(lambda es: es.indices.get(index=name)).body
    if name in found:
        raise UserError(f"{connection.where} is an index and not an alias of ours: not replaced")
    if any(
        shape.MARK not in ((one.get("mappings") or {}).get("_meta") or {}) for one in found.values()
    ):
        raise UserError(f"{connection.where} was not built by touche-rad: not replaced")
    if not replace:
        raise UserError(f"{connection.where} exists already; replace it with --replace")
    return list(found)


def _create(es: Any, index: str, body: Mapping[str, Any]) -> None:
    """Create an index unless a killed load has."""
    import elasticsearch

    try:
        es.indices.create(index=index, **body)
    except elasticsearch.BadRequestError as error:
        if error.error != "resource_already_exists_exception":
            raise


def settle(connection: Connection, concrete: str) -> None:
    """Make what was written searchable, in one segment per shard and copy.

    Every copy then gives the same scores to the last bit. Without it, replaced documents count in
    the scores of a copy until it merges its segments, and each copy does so at another time. A user
    who may not merge gets a warning.
    """
    connection.ask(lambda es: es.indices.refresh(index=concrete), one_try=WRITING_TRY)
    connection.ask(partial(_await_copies, index=concrete))
    if not connection.ask(partial(_merge, index=concrete)):
        log.warning(
            "%s: no permission to merge segments (index privilege maintenance): the index is "
            "complete, but its copies may give slightly different scores",
            connection.where,
        )


def _await_copies(es: Any, index: str) -> None:
    """Wait a little for copies that are being made; a copy without a node is not waited for.

    A user who may not ask for the health of the cluster goes on without waiting.
    """
    es.options(ignore_status=[403, 408]).cluster.health(
        index=index, wait_for_no_initializing_shards=True, timeout="5s"
    )


def _merge(es: Any, index: str) -> bool:
    """Merge to one segment per shard; return whether the user has the permission."""
    patient = es.options(request_timeout=_MERGE_SECONDS, ignore_status=[403])
    return bool(patient.indices.forcemerge(index=index, max_num_segments=1).meta.status != 403)


def _finish(connection: Connection, concrete: str, count: int) -> None:
    """Mark the index as complete; the description of its vectors is kept."""
    settle(connection, concrete)
    _end_load(connection, concrete)
    there = int(connection.ask(lambda es: es.count(index=concrete))["count"])
    if there != count:
        raise WorkError(
            f"{connection.where}: {concrete} has {there} arguments instead of {count}: repeat the "
            "command, or delete it"
        )
    update_description(connection, concrete, lambda about: {**about, "complete": True})


def _end_load(connection: Connection, concrete: str) -> None:
    """Set the index's settings back to those that are not for loading.

    They change no result: a user who may not do this goes on without.
    """
    usual = dict.fromkeys(shape.WHILE_LOADING)
    connection.ask(
        lambda es: es.options(ignore_status=[403]).indices.put_settings(
            index=concrete, settings=usual
        )
    )


def update_description(
    connection: Connection, concrete: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Change the description of an index of ours."""
    about = connection.ask(lambda es: es.indices.get_mapping(index=concrete))[concrete]
    meta = about["mappings"]["_meta"]
    changed = {**meta, shape.MARK: change(meta[shape.MARK])}
    connection.ask(lambda es: es.indices.put_mapping(index=concrete, meta=changed))


def _rename(connection: Connection, concrete: str, before: Sequence[str]) -> None:
    """Switch the alias to the new index in one step, and delete the old ones."""
    name = connection.where.index
    old = [one for one in before if one != concrete]
    actions: list[dict[str, Any]] = [{"add": {"index": concrete, "alias": name}}]
    actions += [{"remove": {"index": one, "alias": name}} for one in old]
    connection.ask(lambda es: es.indices.update_aliases(actions=actions))
    for one in old:
        connection.ask(partial(_remove, index=one))


def _remove(es: Any, index: str) -> None:
    es.options(ignore_status=404).indices.delete(index=index)
