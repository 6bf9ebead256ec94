"""The table of the campaign in docs/reliability.md, between two markers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.faults.cells import SAME, STOPS, WORDS, Group

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
NONE: Final = "-"


def is_kept(happened: str | None, promised: str) -> bool:
    """Whether a promise was kept: a command may also finish where it was promised to stop."""
    return happened == promised or (promised == STOPS and happened == SAME)


def write_table(
    page: Path, groups: Sequence[Group], known: Mapping[tuple[str, ...], str], stale: int
) -> int:
    """Write the table between the markers of a page, and return the number of broken promises."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    broken = sum(
        not is_kept(known.get((group.name, kind, place), promised), promised)
        for group in groups
        for kind, places in group.promises.items()
        for place, promised in places.items()
    )
    page.write_text(
        f"{before}{BEGIN}\n{chr(10).join(_lines(groups, known, broken, stale))}\n{END}{after}"
    )
    return broken


def _lines(
    groups: Sequence[Group], known: Mapping[tuple[str, ...], str], broken: int, stale: int
) -> Iterator[str]:
    kinds = sum(len(group.promises) for group in groups)
    cells = len(known)
    kept = "all as promised" if not broken else f"{broken} not as promised"
    if stale:
        kept += f" ({stale} cells were run before the last change of the campaign's code)"
    yield f"{kinds} kinds of faults, {cells} cells, {kept}. The words of the cells (-: not run):"
    yield ""
    yield from (f"- **{word}**: {meaning}." for word, meaning in WORDS.items())
    for group in groups:
        places = list(dict.fromkeys(one for of in group.promises.values() for one in of))
        yield from ("", f"### {group.name}", "")
        yield f"| fault | {' | '.join(places)} |"
        yield f"| --- |{' --- |' * len(places)}"
        for kind, promised in group.promises.items():
            shown = [
                _cell(known.get((group.name, kind, one), NONE), promised[one])
                if one in promised
                else NONE
                for one in places
            ]
            yield f"| {kind} | {' | '.join(shown)} |"


def _cell(happened: str, promised: str) -> str:
    return (
        happened
        if happened == NONE or is_kept(happened, promised)
        else f"{happened} (promised: {promised})"
    )
