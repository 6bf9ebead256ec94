"""The fault campaign: `python -m tests.faults.campaign [--restart] [GROUP ...]` (`make faults`).

Runs every kind of fault at every place, and writes the table of docs/reliability.md. Finished cells
are kept in build/faults.jsonl, so that a stopped campaign continues. It runs again the cells that
were not as promised, and those of a group whose code in tests/faults has changed; `--restart` runs
all, which is right after a change of the product. With names of groups, only these are run; the
table shows all cells that are kept.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from tests.faults import index_faults, machine_faults, model_faults
from tests.faults.cells import Group
from tests.faults.table import is_kept, write_table

ROOT: Final = Path(__file__).parents[2]
DONE: Final = ROOT / "build/faults.jsonl"
PAGE: Final = ROOT / "docs/reliability.md"


def groups() -> Iterator[Group]:
    """Yield the groups of faults, in the order of the table."""
    yield model_faults.GROUP
    yield index_faults.LOCAL
    yield index_faults.SERVER
    yield machine_faults.GROUP


def main(wanted: Sequence[str], *, restart: bool) -> int:
    """Run all cells that are not done, write the table, and return the exit code."""
    DONE.parent.mkdir(exist_ok=True)
    if restart:
        DONE.unlink(missing_ok=True)
    known, stale = _known()
    for group in groups():
        if wanted and group.name not in wanted:
            continue
        cells = [(kind, place) for kind in group.promises for place in group.promises[kind]]
        missing = [
            (kind, place)
            for kind, place in cells
            if (group.name, kind, place) in stale
            or not is_kept(known.get((group.name, kind, place)), group.promises[kind][place])
        ]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as folder, group.observing(Path(folder)) as observed:
            for kind, place in missing:
                happened = observed(kind, place)
                known[group.name, kind, place] = happened
                stale.discard((group.name, kind, place))
                with DONE.open("a") as stream:
                    row = [group.name, kind, place, happened, _digest(group)]
                    stream.write(json.dumps(row) + "\n")
                promised = group.promises[kind][place]
                print("ok" if is_kept(happened, promised) else "NOT AS PROMISED", end=" ")
                print(group.name, kind, place, happened, sep=" | ", flush=True)
    broken = write_table(PAGE, list(groups()), known, len(stale))
    print(f"{len(known)} cells, {broken} not as promised: {PAGE}")
    return 1 if broken else 0


def _known() -> tuple[dict[tuple[str, str, str], str], set[tuple[str, str, str]]]:
    """Return the last result of each cell, and the cells that other code of the group has run."""
    of_name = {group.name: (group, _digest(group)) for group in groups()}
    last: dict[tuple[str, str, str], str] = {}
    stale: set[tuple[str, str, str]] = set()
    for line in DONE.read_text().splitlines() if DONE.exists() else ():
        name, kind, place, happened, *digest = json.loads(line)
        group, now = of_name[name]
        if place in group.promises.get(kind, {}):
            last[name, kind, place] = happened
            (stale.discard if digest == [now] else stale.add)((name, kind, place))
    return last, stale


def _digest(group: Group) -> str:
    """Return a digest of the code that runs the cells of a group."""
    own = Path(inspect.getfile(inspect.unwrap(group.observing)))
    files = (own, own.with_name("cells.py"), own.with_name("model_places.py"))
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


if __name__ == "__main__":
    named = [word for word in sys.argv[1:] if word != "--restart"]
    sys.exit(main(named, restart="--restart" in sys.argv))
