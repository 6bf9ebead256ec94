"""Making an index on Elasticsearch: loaded beside what is there, then taking its name at once.

The name is an alias. What is loaded lies in an index named after its content; the alias goes over
to it when every argument is there, so that a search never meets half an index or none. A killed
load goes on: what is there already is not sent again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import IO, Any, Final

from retrieval.elastic import shape
from retrieval.elastic.connection import Connection, place
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError

AT_ONCE: Final = 500
"""Arguments sent together."""


def load(
    arguments: Iterable[Argument], location: str, *, replace: bool, shards: int, replicas: int
) -> int:
    """Make an index and return how many arguments it holds."""
    connection = Connection(place(location))
    before = _standing(connection, replace=replace)
    with _spooled(arguments) as (spool, count, digest):
        concrete = f"{connection.where.index}-{digest[:12]}-{shape.FORMAT}"
        made = _made(connection, concrete, digest, count, shape.settings(shards, replicas))
        for numbered in _batches(spool):
            _send(connection, concrete, numbered, check=not made)
        _finish(connection, concrete, digest, count)
    _rename(connection, concrete, before)
    return count


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
            if argument.id in seen:
                if seen[argument.id] != own:
                    raise UserError(f"two different arguments have the id {argument.id!r}")
                continue
            seen[argument.id] = own
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


def _made(
    connection: Connection, concrete: str, digest: str, count: int, settings: Mapping[str, Any]
) -> bool:
    """Make the index unless a killed load has; return whether it is new."""
    if connection.ask(lambda es: bool(es.indices.exists(index=concrete))):
        return False
    body = {"settings": dict(settings), "mappings": shape.mapping(digest, count)}
    connection.ask(lambda es: es.options(ignore_status=400).indices.create(index=concrete, **body))
    return True


def _send(
    connection: Connection, concrete: str, numbered: Sequence[tuple[int, Argument]], *, check: bool
) -> None:
    """Send the arguments that are not there; one sent twice, after a broken answer, is one."""
    there = _there(connection, concrete, [one.id for _, one in numbered]) if check else set()
    operations: list[Mapping[str, Any]] = []
    for order, argument in numbered:
        name = shape.whole(argument.id)
        if name not in there:
            operations.append({"index": {"_index": concrete, "_id": name}})
            operations.append(shape.document(argument, order))
    if not operations:
        return
    answer = connection.ask(lambda es: es.bulk(operations=operations))
    if answer["errors"]:
        faults = (one["index"].get("error") for one in answer["items"])
        fault = next(found for found in faults if found)
        raise WorkError(f"{connection.where}: an argument was refused: {fault.get('reason')}")


def _there(connection: Connection, concrete: str, ids: Sequence[str]) -> set[str]:
    whole = [shape.whole(one) for one in ids]
    found = connection.ask(lambda es: es.mget(index=concrete, ids=whole, source=False))["docs"]
    return {one["_id"] for one in found if one.get("found")}


def _finish(connection: Connection, concrete: str, digest: str, count: int) -> None:
    connection.ask(lambda es: es.indices.refresh(index=concrete))
    there = int(connection.ask(lambda es: es.count(index=concrete))["count"])
    if there != count:
        raise WorkError(
            f"{connection.where}: {there} of {count} arguments are there; the same command goes on"
        )
    told = shape.about(digest, count, complete=True)
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
