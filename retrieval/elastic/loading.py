"""Load a collection into a new index, then switch the alias to it."""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import IO, Any, Final, NamedTuple

from retrieval.elastic import shape
from retrieval.elastic.connection import (
    Connection,
    TooLarge,
    check_id,
    check_new_name,
    log,
    place,
)
from retrieval.elastic.documents import documents
from retrieval.index.statements import StatementGroups
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError
from touche_rad.files.seen import SeenIds

BATCH: Final = 1_000
"""Arguments per batch."""
_AT_ONCE: Final = 2
"""Batches that the server gets at a time."""


class Kept(NamedTuple):
    """An argument's place in the collection, id and document, ready to send."""

    order: int
    name: str
    document: bytes


@dataclass(frozen=True)
class Spool:
    """A collection without duplicates, in a temporary file: a line with the id, one the document.

    The documents lack their end, which has the groups of statements: they are known at last.
    """

    file: IO[bytes]
    count: int
    digest: str
    groups: Any

    def batches(self) -> Iterator[Sequence[Kept]]:
        """Yield batches of arguments in order."""
        self.file.seek(0)
        lines = zip(self.file, self.file, self.groups, strict=True)
        kept = (
            Kept(order, json.loads(name), document[:-1] + shape.end(order, groups.tolist()))
            for order, (name, document, groups) in enumerate(lines)
        )
        while batch := list(islice(kept, BATCH)):
            yield batch


@contextmanager
def spooled(arguments: Iterable[Argument]) -> Iterator[Spool]:
    """Write the arguments' documents to a temporary file and check their ids."""
    digest, gathering = sha256(), StatementGroups()
    with tempfile.TemporaryFile() as file:
        for made in documents(_lines(arguments, digest)):
            file.write(made.lines)
            gathering.add_all(made.statements)
        groups = gathering.groups()
        if not len(groups):
            raise UserError("the collection contains no argument")
        yield Spool(file, len(groups), digest.hexdigest(), groups)


def _lines(arguments: Iterable[Argument], digest: Any) -> Iterator[str]:
    """Yield the JSON of each argument once, and add it to the digest."""
    seen = SeenIds()
    for argument in arguments:
        line = files.argument_line(argument)
        name = shape.sendable(argument.id)
        check_id(name)
        same = seen.add(name, hash(line))
        if same is False:
            sent = "" if name == argument.id else f" ({argument.id!r} is sent as this id)"
            raise UserError(f"two different arguments have the id {name!r}{sent}")
        if same is None:
            digest.update(line.encode("utf-8") + b"\n")
            yield line


Pair = tuple[bytes, bytes]
"""A bulk action and its document, as JSON."""
_EXISTS: Final = 409
_MERGE_SECONDS: Final = 4 * 3600.0
"""Maximum time of a merge: a large index with vectors takes long."""
BYTES: Final = 8 * 2**20
"""Maximum size of a request, unless a single document is larger."""


def send_changes(
    connection: Connection, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> None:
    """Send bulk actions with their documents."""
    send(connection, [(_json(action), _json(document)) for action, document in pairs])


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def send(connection: Connection, pairs: Sequence[Pair]) -> None:
    """Send documents; a request that the server finds too large is split in two."""
    for part in _parts(pairs):
        _send_part(connection, part)


def _parts(pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    part: list[Pair] = []
    size = 0
    for pair in pairs:
        own = len(pair[0]) + len(pair[1])
        if part and size + own > BYTES:
            yield part
            part, size = [], 0
        part.append(pair)
        size += own
    if part:
        yield part


def _send_part(connection: Connection, part: Sequence[Pair]) -> None:
    operations = [line for pair in part for line in pair]
    try:
        answer = connection.ask(
            lambda es: es.bulk(operations=operations), one_try=connection.writing_try
        )
    except TooLarge:
        if len(part) == 1:
            ((action, document),) = part
            name = next(iter(json.loads(action).values()))["_id"]
            raise UserError(
                f"{connection.where}: the argument {name!r} has {len(document)} bytes, "
                "more than the server accepts in a request (http.max_content_length)"
            ) from None
        half = len(part) // 2
        _send_part(connection, part[:half])
        _send_part(connection, part[half:])
        return
    if answer["errors"]:
        for fault in filter(None, map(_fault, answer["items"])):
            raise WorkError(f"{connection.where}: {fault}")


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
    check_new_name(connection.where.index)
    before = _standing(connection, replace=replace)
    with spooled(arguments) as spool:
        body = {
            "settings": shape.settings(shards, replicas),
            "mappings": shape.mapping(spool.digest, spool.count),
        }
        concrete = f"{connection.where.index}-{_short_digest(body)}-{shape.FORMAT}"
        made = _made(connection, concrete, body)
        _send_all(connection, concrete, spool.batches(), check=not made)
        _finish(connection, concrete, spool.count)
    _rename(connection, concrete, before)
    return spool.count


def _send_all(
    connection: Connection, concrete: str, batches: Iterator[Sequence[Kept]], *, check: bool
) -> None:
    """Send all batches, some at a time: the server has work while the next ones are read."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running: deque[Future[None]] = deque()
        for batch in batches:
            running.append(pool.submit(send_batch, connection, concrete, batch, check=check))
            if len(running) > _AT_ONCE:
                running.popleft().result()
        for one in running:
            one.result()


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


def _made(connection: Connection, concrete: str, body: Mapping[str, Any]) -> bool:
    """Create the index unless a killed load has; return whether it is new."""
    if connection.ask(lambda es: bool(es.indices.exists(index=concrete))):
        return False
    return bool(connection.ask(partial(_create, index=concrete, body=body)))


def _create(es: Any, index: str, body: Mapping[str, Any]) -> bool:
    """Create an index; return False if another load has just created it."""
    import elasticsearch

    try:
        es.indices.create(index=index, **body)
    except elasticsearch.BadRequestError as error:
        if error.error != "resource_already_exists_exception":
            raise
        return False
    return True


def send_batch(
    connection: Connection, concrete: str, batch: Sequence[Kept], *, check: bool
) -> None:
    """Send the arguments of a batch that the index does not have.

    A request without an answer in time is sent again. "create" keeps the first copy of an argument;
    "index" would replace it, and a replaced copy counts in the scores until segments are merged.
    """
    there = _there(connection, concrete, [one.name for one in batch]) if check else set()
    send(
        connection,
        [
            (_json({"create": {"_index": concrete, "_id": one.name}}), one.document)
            for one in batch
            if one.name not in there
        ],
    )


def _there(connection: Connection, concrete: str, names: Sequence[str]) -> set[str]:
    found = connection.ask(lambda es: es.mget(index=concrete, ids=names, source=False))["docs"]
    return {one["_id"] for one in found if one.get("found")}


def settle(connection: Connection, concrete: str) -> None:
    """Make what was written searchable, in one segment per shard and copy.

    Every copy then gives the same scores to the last bit. Without it, replaced documents count in
    the scores of a copy until it merges its segments, and each copy does so at another time. A user
    who may not merge gets a warning.
    """
    connection.ask(lambda es: es.indices.refresh(index=concrete), one_try=connection.writing_try)
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
    if there > count:
        raise UserError(
            f"{connection.where}: another program wrote into {concrete}: it has {there} arguments "
            f"instead of {count}; delete it and repeat the command"
        )
    if there < count:
        raise WorkError(
            f"{connection.where}: {there} of {count} arguments are loaded; repeat the command"
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
