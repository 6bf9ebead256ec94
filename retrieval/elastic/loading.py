"""Making an index on Elasticsearch: loaded beside what is there, then taking its name at once.

The name is an alias. What is loaded lies in an index named after its content and settings; the
alias goes over to it when every argument is there, so that a search never meets half an index or
none. A killed load goes on: what is there already is not sent again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import IO, Any, Final

from retrieval.elastic import shape
from retrieval.elastic.bulk import Pair, send
from retrieval.elastic.connection import Connection, place
from retrieval.elastic.names import check_id, check_new_name
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError

AT_ONCE: Final = 500
"""Arguments sent together, unless they are long."""


def load(
    arguments: Iterable[Argument], location: str, *, replace: bool, shards: int, replicas: int
) -> int:
    """Make an index and return how many arguments it holds."""
    connection = Connection(place(location))
    check_new_name(connection.where.index)
    before = _standing(connection, replace=replace)
    with _spooled(arguments) as (spool, count, digest):
        body = {
            "settings": shape.settings(shards, replicas),
            "mappings": shape.mapping(digest, count),
        }
        concrete = f"{connection.where.index}-{_short_digest(body)}-{shape.FORMAT}"
        made = _made(connection, concrete, body)
        for numbered in _batches(spool):
            _send(connection, concrete, numbered, check=not made)
        _finish(connection, concrete, count)
    _rename(connection, concrete, before)
    return count


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


@contextmanager
def _spooled(arguments: Iterable[Argument]) -> Iterator[tuple[IO[str], int, str]]:
    """Keep the arguments in a file until their number and digest are known."""
    digest = sha256()
    seen: dict[str, bytes] = {}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass") as spool:
        for argument in arguments:
            line = files.argument_line(argument) + "\n"
            own = sha256(line.encode("utf-8", "surrogatepass")).digest()
            name = shape.whole(argument.id)
            check_id(name)
            if name in seen:
                if seen[name] != own:
                    told = "" if name == argument.id else f", as which {argument.id!r} is sent"
                    raise UserError(f"two different arguments have the id {name!r}{told}")
                continue
            seen[name] = own
            spool.write(line)
            digest.update(line.encode("utf-8", "surrogatepass"))
        if not seen:
            raise UserError("the collection holds no argument")
        spool.seek(0)
        yield spool, len(seen), digest.hexdigest()


def _batches(spool: IO[str]) -> Iterator[Sequence[tuple[int, Argument]]]:
    numbered = (
        (order, Argument.model_validate(json.loads(line))) for order, line in enumerate(spool)
    )
    while batch := list(islice(numbered, AT_ONCE)):
        yield batch


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


def _send(
    connection: Connection, concrete: str, numbered: Sequence[tuple[int, Argument]], *, check: bool
) -> None:
    """Send the arguments that are not there; one sent twice, after a broken answer, is one."""
    there = _there(connection, concrete, [one.id for _, one in numbered]) if check else set()
    pairs: list[Pair] = []
    for order, argument in numbered:
        name = shape.whole(argument.id)
        if name not in there:
            action = {"index": {"_index": concrete, "_id": name}}
            pairs.append((action, shape.document(argument, order)))
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
