"""Making an index on Elasticsearch: loaded beside what is there, then taking its name at once.

The name is an alias. What is loaded lies in an index named after its content and settings; the
alias goes over to it when every argument is there, so that a search never meets half an index or
none. A killed load goes on: what is there already is not sent again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from retrieval.elastic import shape
from retrieval.elastic.bulk import Pair, send
from retrieval.elastic.connection import Connection, place
from retrieval.elastic.names import check_new_name
from retrieval.elastic.spool import Kept, spooled
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError


def load(
    arguments: Iterable[Argument], location: str, *, replace: bool, shards: int, replicas: int
) -> int:
    """Make an index and return how many arguments it holds."""
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
        for batch in spool.batches():
            _send(connection, concrete, batch, check=not made)
        _finish(connection, concrete, spool.count)
    _rename(connection, concrete, before)
    return spool.count


def _short_digest(body: Mapping[str, Any]) -> str:
    """Return what tells all that decides what an index is: other settings make another one."""
    return sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:12]


def _standing(connection: Connection, *, replace: bool) -> list[str]:
    """What the name stands for now, which may be replaced."""
    name = connection.where.index
    if not connection.ask(lambda es: bool(es.indices.exists(index=name))):
        return []
    found = connection.ask(lambda es: es.indices.get(index=name)).body
    if name in found:
        raise UserError(f"{connection.where} is an index, not a name that we gave: not replaced")
    if any(
        shape.MARK not in ((one.get("mappings") or {}).get("_meta") or {}) for one in found.values()
    ):
        raise UserError(f"{connection.where} names an index that is not ours: not replaced")
    if not replace:
        raise UserError(f"{connection.where} is there already: --replace makes it anew")
    return list(found)


def _made(connection: Connection, concrete: str, body: Mapping[str, Any]) -> bool:
    """Make the index unless a killed load has; return whether it is new."""
    if connection.ask(lambda es: bool(es.indices.exists(index=concrete))):
        return False
    return bool(connection.ask(partial(_create, index=concrete, body=body)))


def _create(es: Any, index: str, body: Mapping[str, Any]) -> bool:
    """Make an index; one that another load has just made is as good, and not new."""
    import elasticsearch

    try:
        es.indices.create(index=index, **body)
    except elasticsearch.BadRequestError as error:
        if error.error != "resource_already_exists_exception":
            raise
        return False
    return True


def _send(connection: Connection, concrete: str, batch: Sequence[Kept], *, check: bool) -> None:
    """Send the arguments that are not there; one sent twice, after a broken answer, is one."""
    there = _there(connection, concrete, [one.argument.id for one in batch]) if check else set()
    pairs: list[Pair] = []
    for one in batch:
        name = shape.whole(one.argument.id)
        if name not in there:
            action = {"index": {"_index": concrete, "_id": name}}
            pairs.append((action, shape.document(one.argument, one.order, one.groups)))
    send(connection, pairs)


def _there(connection: Connection, concrete: str, ids: Sequence[str]) -> set[str]:
    whole = [shape.whole(one) for one in ids]
    found = connection.ask(lambda es: es.mget(index=concrete, ids=whole, source=False))["docs"]
    return {one["_id"] for one in found if one.get("found")}


def _finish(connection: Connection, concrete: str, count: int) -> None:
    """Say that the index is whole; what it says of its vectors stays."""
    connection.ask(lambda es: es.indices.refresh(index=concrete))
    there = int(connection.ask(lambda es: es.count(index=concrete))["count"])
    if there > count:
        raise UserError(
            f"{connection.where}: somebody wrote into {concrete}, which holds {there} arguments "
            f"for {count}: delete it, and give the same command"
        )
    if there < count:
        raise WorkError(
            f"{connection.where}: {there} of {count} arguments are there; the same command goes on"
        )
    tell(connection, concrete, lambda told: {**told, "complete": True})


def tell(
    connection: Connection, concrete: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Change what an index of ours says of itself."""
    about = connection.ask(lambda es: es.indices.get_mapping(index=concrete))[concrete]
    meta = about["mappings"]["_meta"]
    told = {**meta, shape.MARK: change(meta[shape.MARK])}
    connection.ask(lambda es: es.indices.put_mapping(index=concrete, meta=told))


def _rename(connection: Connection, concrete: str, before: Sequence[str]) -> None:
    """Let the name stand for the new index, in one step, and remove what it stood for."""
    name = connection.where.index
    old = [one for one in before if one != concrete]
    actions: list[dict[str, Any]] = [{"add": {"index": concrete, "alias": name}}]
    actions += [{"remove": {"index": one, "alias": name}} for one in old]
    connection.ask(lambda es: es.indices.update_aliases(actions=actions))
    for one in old:
        connection.ask(partial(_remove, index=one))


def _remove(es: Any, index: str) -> None:
    es.options(ignore_status=404).indices.delete(index=index)
