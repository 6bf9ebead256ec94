"""A collection kept in a file until all that its index is named after is known."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from retrieval.analyser import tokens
from retrieval.elastic import shape
from retrieval.elastic.names import check_id
from retrieval.statements import ROLES, Gathering, key_of
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import UserError

AT_ONCE: Final = 500
"""Arguments given together."""


@dataclass(frozen=True)
class Kept:
    """An argument, its place in the collection, and the groups of its three statements."""

    order: int
    argument: Argument
    groups: Sequence[int]


@dataclass(frozen=True)
class Spool:
    """A collection without what stands in it twice."""

    file: IO[str]
    count: int
    digest: str
    groups: Any

    def batches(self) -> Iterator[Sequence[Kept]]:
        """Yield the arguments in order, some together."""
        self.file.seek(0)
        kept = (
            Kept(order, files.argument_of(json.loads(line)), groups.tolist())
            for order, (line, groups) in enumerate(zip(self.file, self.groups, strict=True))
        )
        while batch := list(islice(kept, AT_ONCE)):
            yield batch


@contextmanager
def spooled(arguments: Iterable[Argument]) -> Iterator[Spool]:
    """Keep the arguments, whose ids must be such as the server takes."""
    digest, gathering = sha256(), Gathering()
    seen: dict[str, bytes] = {}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass") as file:
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
            file.write(line)
            digest.update(line.encode("utf-8", "surrogatepass"))
            gathering.add({role: key_of(tokens(getattr(argument, role))) for role in ROLES})
        if not seen:
            raise UserError("the collection holds no argument")
        yield Spool(file, len(seen), digest.hexdigest(), _groups(gathering, len(seen)))


def _groups(gathering: Gathering, count: int) -> Any:
    """Return each argument's groups; -1 for a blank statement."""
    with tempfile.TemporaryDirectory(prefix="touche-rad-") as made:
        folder = Path(made) / "statements"
        gathering.write(np.arange(count), folder)
        return np.load(folder / "groups.npy")
