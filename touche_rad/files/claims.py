r"""Claims: the official parameter file, one debate a row.

The official client puts a value into JSON as it stands, so that a quotation mark is written `\"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from touche_rad.debate import Debate
from touche_rad.errors import InputError
from touche_rad.files.lines import BadLines, Place, numbered_lines

CLAIM, USER = "TOPIC_DESCRIPTION", "USER"
KIND = "claims"


def read_rows(path: Place, bad: BadLines) -> Iterator[Debate]:
    """Read the claims of a TSV; further columns are kept."""
    header: list[str] | None = None
    count = 0
    for number, line in numbered_lines(path, bad):
        cells = line.split("\t")
        if header is None:
            header = [cell.strip() for cell in cells]
            _check_header(path, number, header)
            continue
        if len(cells) != len(header):
            wrong = f"expected {len(header)} columns, got {len(cells)}"
            bad.report(InputError(path, wrong, line=number))
            continue
        count += 1
        row = dict(zip(header, (cell.replace('\\"', '"') for cell in cells), strict=True))
        yield Debate(
            id=f"claim-{count}", claim=row[CLAIM], user=row.get(USER, ""),
            wire={"kind": KIND, "row": row},
        )  # fmt: skip
    if header is None:
        raise InputError(path, f"is empty: expected a header with {CLAIM} and {USER}")


def _check_header(path: Place, number: int, header: list[str]) -> None:
    if CLAIM not in header:
        shown = ", ".join(header[:6])
        raise InputError(path, f"expected the column {CLAIM}, got {shown}", line=number)
    if len(set(header)) != len(header):
        raise InputError(path, "expected each column once", line=number)


def claims_text(debates: Iterable[Debate]) -> str:
    """Write claims as the official parameter file."""
    rows = [
        {**_row(debate), CLAIM: debate.claim, **({USER: debate.user} if debate.user else {})}
        for debate in debates
    ]
    header = list(dict.fromkeys((key for row in rows for key in row), None)) or [CLAIM, USER]
    lines = ["\t".join(header)]
    lines += ["\t".join(_cell(row.get(key, "")) for key in header) for row in rows]
    return "\n".join(lines) + "\n"


def _row(debate: Debate) -> dict[str, str]:
    row: dict[str, str] = debate.wire["row"] if debate.wire.get("kind") == KIND else {}
    return row


def _cell(value: str) -> str:
    return (
        " ".join(value.split()).replace('"', '\\"') if _breaks(value) else value.replace('"', '\\"')
    )


def _breaks(value: str) -> bool:
    return any(character in value for character in "\t\n\r")
