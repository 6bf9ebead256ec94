"""The fault campaign: `python -m tests.faults.campaign [--restart]` (`make faults`).

Runs every kind of fault at every place, and writes the table of docs/reliability.md. Finished cells
are kept in build/faults.jsonl, so that a stopped campaign continues.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.faults import index_faults, machine_faults, model_faults
from tests.faults.cells import Group
from tests.faults.table import write_table

ROOT: Final = Path(__file__).parents[2]
DONE: Final = ROOT / "build/faults.jsonl"
PAGE: Final = ROOT / "docs/reliability.md"


def groups() -> Iterator[Group]:
    """Yield the groups of faults, in the order of the table."""
    yield model_faults.GROUP
    yield index_faults.LOCAL
    yield index_faults.SERVER
    yield machine_faults.GROUP


def main(*, restart: bool) -> int:
    """Run all cells that are not done, write the table, and return the exit code."""
    DONE.parent.mkdir(exist_ok=True)
    if restart:
        DONE.unlink(missing_ok=True)
    known = _known()
    for group in groups():
        cells = [(kind, place) for kind in group.promises for place in group.promises[kind]]
        missing = [cell for cell in cells if (group.name, *cell) not in known]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as folder, group.observing(Path(folder)) as observed:
            for kind, place in missing:
                happened = observed(kind, place)
                known[group.name, kind, place] = happened
                with DONE.open("a") as stream:
                    stream.write(json.dumps([group.name, kind, place, happened]) + "\n")
                promised = group.promises[kind][place]
                print("ok" if happened == promised else "NOT AS PROMISED", end=" ")
                print(group.name, kind, place, happened, sep=" | ", flush=True)
    broken = write_table(PAGE, list(groups()), known)
    print(f"{len(known)} cells, {broken} not as promised: {PAGE}")
    return 1 if broken else 0


def _known() -> dict[tuple[str, str, str], str]:
    if not DONE.exists():
        return {}
    rows = (json.loads(line) for line in DONE.read_text().splitlines())
    return {(group, kind, place): happened for group, kind, place, happened in rows}


if __name__ == "__main__":
    sys.exit(main(restart="--restart" in sys.argv))
