"""Load a collection into a new index, then switch the alias to it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import IO, Any, Final

from retrieval._arrays import Array
from retrieval.elastic import _shape as shape
from retrieval.elastic._connection import WRITING_TRY, Connection, reason
from retrieval.index.analyser import PARTS, tokens
from retrieval.index.statements import ROLES, StatementGroups
from retrieval.index.store import distinct
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError
from touche_rad.events import log
from touche_rad.text import digest_of_text

BATCH: Final = 1_000
"""Arguments per batch."""
BYTES: Final = 900_000
"""Maximum size of a request, unless a single document is larger; proxies often allow 1 MiB."""
_EXISTS: Final = 409
_MERGE_SECONDS: Final = 4 * 3600.0
"""Maximum time of a merge: a large index takes long."""


def _send(connection: Connection, actions: Iterable[Mapping[str, Any]]) -> None:
    """Send bulk actions; what the server did not answer is sent again."""
    from elasticsearch.helpers import BulkIndexError, bulk

    iterator = iter(actions)
    while batch := list(islice(iterator, BATCH)):
        call = partial(
            bulk,
            actions=batch,
            ignore_status=(_EXISTS,),
            max_chunk_bytes=BYTES,
            max_retries=3,
            initial_backoff=0.5,
        )
        try:
            connection.ask(call, one_try=WRITING_TRY)
        except BulkIndexError as error:
            ((_, rejected),) = error.errors[0].items()
            raise WorkError(
                f"{connection.where}: the server rejected the argument {rejected.get('_id')!r}: "
                f"{reason(rejected)}"
            ) from None


def load(
    arguments: Iterable[Argument], location: str, *, replace: bool, shards: int, replicas: int
) -> int:
    """Build an index and return the number of its arguments."""
    with closing(Connection(location)) as connection:
        name = connection.where.index
        before = _indexes_to_replace(connection, replace=replace)
        with tempfile.TemporaryFile("w+", encoding="ascii") as file:
            digest, groups = _spool(arguments, file)
            count = len(groups)
            body = {
                "settings": shape.settings(shards, replicas),
                "mappings": shape.mapping(digest, count),
            }
            short = digest_of_text(json.dumps(body, sort_keys=True), 12)
            concrete = f"{name}-{short}-{shape.FORMAT}"
            connection.ask(partial(_create, index=concrete, body=body))
            # "create" keeps the first copy of an argument that is sent twice. "index" would replace
            # it, and a replaced copy counts in the scores until segments are merged.
            _send(connection, _actions(file, groups, concrete))
        # Make what was written searchable, in one segment per shard and copy. Every copy then gives
        # the same scores to the last bit. Without it, replaced documents count in the scores of a
        # copy until it merges its segments, and each copy does so at another time.
        connection.ask(lambda es: es.indices.refresh(index=concrete), one_try=WRITING_TRY)
        # Wait a little for copies that are being made; a user may lack the permission to ask.
        connection.ask(
            lambda es: es.options(ignore_status=[403, 408]).cluster.health(
                index=concrete, wait_for_no_initializing_shards=True, timeout="5s"
            )
        )
        merged = connection.ask(
            lambda es: es.options(
                request_timeout=_MERGE_SECONDS, ignore_status=[403]
            ).indices.forcemerge(index=concrete, max_num_segments=1)
        )
        if merged.meta.status == 403:
            log.warning(
                "%s: no permission to merge segments (index privilege maintenance): the index is "
                "complete, but its copies may give slightly different scores",
                connection.where,
            )
        stored = int(connection.ask(lambda es: es.count(index=concrete))["count"])
        if stored != count:
            raise WorkError(
                f"{connection.where}: {concrete} has {stored} arguments instead of {count}: "
                "repeat the command, or delete it"
            )

        # The description of the index says that it is complete.
        about = connection.ask(lambda es: es.indices.get_mapping(index=concrete))[concrete]
        meta = about["mappings"]["_meta"]
        meta[shape.MARK]["complete"] = True
        connection.ask(lambda es: es.indices.put_mapping(index=concrete, meta=meta))

        # The alias is switched in one step, and then the old indexes are deleted.
        old = [index for index in before if index != concrete]
        actions: list[dict[str, Any]] = [{"add": {"index": concrete, "alias": name}}]
        actions += [{"remove": {"index": index, "alias": name}} for index in old]
        connection.ask(lambda es: es.indices.update_aliases(actions=actions))
        if old:
            connection.ask(lambda es: es.options(ignore_status=404).indices.delete(index=old))
        return count


def _spool(arguments: Iterable[Argument], file: IO[str]) -> tuple[str, Array]:
    """Write the documents without the groups of their statements; return digest and groups.

    The groups are known only after the last argument.
    """
    digest = sha256()
    statements = StatementGroups()
    for _, line in distinct(arguments):
        digest.update(line)
        record = json.loads(line)
        stems = {part: tokens(record.get(part) or "") for part in PARTS}
        statements.add(stems[role] for role in ROLES)
        file.write(json.dumps(shape.document(record, line, stems)) + "\n")
    groups = statements.groups()
    if not len(groups):
        raise UserError("the collection contains no argument")
    return digest.hexdigest(), groups


def _actions(file: IO[str], groups: Array, concrete: str) -> Iterator[Mapping[str, Any]]:
    """Yield the bulk actions that create the documents, in order."""
    file.seek(0)
    for order, (line, numbers) in enumerate(zip(file, groups.tolist(), strict=True)):
        document = json.loads(line)
        document["order"] = order
        document[shape.GROUPS] = {
            role: number for role, number in zip(ROLES, numbers, strict=True) if number >= 0
        }
        yield {
            "_op_type": "create",
            "_index": concrete,
            "_id": document["id"],
            "_source": document,
        }


def _indexes_to_replace(connection: Connection, *, replace: bool) -> list[str]:
    """Return the indexes behind the alias, which are to be replaced."""
    name = connection.where.index
    if not connection.has_index():
        return []
    indexes = connection.ask(lambda es: es.indices.get(index=name)).body
    metas = [(about.get("mappings") or {}).get("_meta") or {} for about in indexes.values()]
    if name in indexes or not all(shape.MARK in meta for meta in metas):
        raise UserError(f"{connection.where} was not built by touche-rad: not replaced")
    if not replace:
        raise UserError(f"{connection.where} exists already; replace it with --replace")
    return list(indexes)


def _create(es: Any, index: str, body: Mapping[str, Any]) -> None:
    """Create an index unless a killed load has."""
    import elasticsearch

    try:
        es.indices.create(index=index, **body)
    except elasticsearch.BadRequestError as error:
        if error.error != "resource_already_exists_exception":
            raise
