"""Files of lines and of JSON, as tests write and read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, Final

from touche_rad.debate import Argument

END_OF_RUN: Final = {
    "format": 2,
    "verb": "simulate",
    "state": "done",
    "started": "2026-01-01T00:00:00Z",
    "finished": "2026-01-01T00:00:01Z",
    "seconds": 1.0,
}
"""The fields that each status has."""


def read_json(path: str | Path) -> Any:
    return json.loads(Path(path).read_text("utf-8"))


def read_cases(name: str) -> Any:
    """Return the JSON of a file in `tests`."""
    return read_json(Path(__file__).parent / name)


def read_arguments(name: str) -> tuple[Argument, ...]:
    """Return the arguments in a file in `tests`."""
    return tuple(Argument(**record) for record in read_cases(name))


def read_table(name: str) -> list[list[str]]:
    """Return the cells of each line of a file in `tests`; tabs stand between them."""
    table = (Path(__file__).parent / name).read_text("utf-8")
    return [line.split("\t") for line in table.splitlines()]


def read_status(output: str | Path) -> Any:
    """Return the status of a run that wrote a file."""
    return read_json(f"{output}.status.json")


def read_records(path: str | Path) -> list[Any]:
    """Return what each line of a file says in JSON."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def write_records(path: str | Path, *records: object) -> Path:
    """Write one line of JSON for each record."""
    return write_lines(path, map(json.dumps, records))


def write_lines(path: str | Path, lines: Iterable[str]) -> Path:
    path = Path(path)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def change_parts(record: Any, changes: Mapping[str, Any]) -> None:
    """Change the parts of a record at these paths: to another value, or to be "left out"."""
    for path, value in changes.items():
        *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
        part = reduce(getitem, parents, record)
        if value == "left out":
            del part[last]
        else:
            part[last] = value


def with_flipped_bits(content: bytes, step: int) -> Iterator[tuple[int, bytes]]:
    """Yield copies of a file's content, each with another bit, and the byte that has it."""
    for bit in range(0, 8 * len(content), step):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield bit // 8, bytes(changed)


def copy_lines(source: str | Path, path: str | Path, count: int = 1) -> Path:
    """Write the first lines of a file."""
    return write_lines(path, Path(source).read_text("utf-8").splitlines()[:count])
