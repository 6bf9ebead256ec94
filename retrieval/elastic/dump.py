"""Everything of an index on Elasticsearch into a file, as of one moment; a killed dump goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retrieval.elastic.arguments import ElasticArguments
from touche_rad import files


def dump(location: str, path: Path, report: Callable[[int, int], None] | None = None) -> int:
    """Write all arguments of an index to a file of JSON lines, and return how many there are.

    Beside the file, until it is whole, `.part` holds what has come and `.mark` up to where. An
    index whose order does not outlast a connection is begun anew.
    """
    index = ElasticArguments(location)
    part, mark = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.mark")
    path.parent.mkdir(parents=True, exist_ok=True)
    at = _mark(mark, index)
    total, done = len(index), int(at["done"])
    with part.open("ab") as out:
        out.truncate(int(at["bytes"]))
        for after, arguments in index.pages(at["after"]):
            lines = "".join(files.argument_line(one) + "\n" for one in arguments)
            out.write(lines.encode("utf-8", "surrogatepass"))
            out.flush()
            os.fsync(out.fileno())
            done += len(arguments)
            _note(mark, index, {"after": list(after), "bytes": out.tell(), "done": done})
            if report is not None:
                report(done, total)
    part.rename(path)
    mark.unlink(missing_ok=True)
    return done


def _mark(path: Path, index: ElasticArguments) -> dict[str, Any]:
    """How far a killed dump of the same index came."""
    begun = {"after": None, "bytes": 0, "done": 0}
    if index.order == "_doc":
        return begun
    try:
        noted = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return begun
    if noted.get("of") != [index.location, index.fingerprint]:
        return begun
    return {key: noted[key] for key in begun}


def _note(path: Path, index: ElasticArguments, at: dict[str, Any]) -> None:
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps({"of": [index.location, index.fingerprint], **at}), "utf-8")
    beside.replace(path)
