"""Sending documents in requests that a server takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from retrieval.elastic.connection import Connection, TooLarge
from touche_rad.errors import UserError, WorkError

Pair = tuple[Mapping[str, Any], Mapping[str, Any]]
"""What is done with a document, and the document."""
BYTES: Final = 8 * 2**20
"""Larger requests are not made, unless one document alone is."""


def send(connection: Connection, pairs: Sequence[Pair]) -> None:
    """Send documents; a request that is too large for the server is halved."""
    for part in _parts(pairs):
        _send(connection, part)


def _parts(pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    part: list[Pair] = []
    size = 0
    for pair in pairs:
        own = len(json.dumps(pair))
        if part and size + own > BYTES:
            yield part
            part, size = [], 0
        part.append(pair)
        size += own
    if part:
        yield part


def _send(connection: Connection, part: Sequence[Pair]) -> None:
    operations = [line for pair in part for line in pair]
    try:
        answer = connection.ask(lambda es: es.bulk(operations=operations))
    except TooLarge:
        if len(part) == 1:
            ((action, document),) = part
            name = next(iter(action.values()))["_id"]
            raise UserError(
                f"{connection.where}: the argument {name!r} has {len(json.dumps(document))} bytes, "
                "more than the server takes in a request (http.max_content_length)"
            ) from None
        half = len(part) // 2
        _send(connection, part[:half])
        _send(connection, part[half:])
        return
    if answer["errors"]:
        fault = next(one for one in map(_fault, answer["items"]) if one)
        raise WorkError(f"{connection.where}: {fault}")


def _fault(item: Mapping[str, Any]) -> str:
    done: Mapping[str, Any] = next(iter(item.values()))
    error = done.get("error")
    if not error:
        return ""
    reason = error.get("reason") if isinstance(error, dict) else error
    return f"the argument {done.get('_id')!r} was refused: {' '.join(str(reason).split())[:200]}"
