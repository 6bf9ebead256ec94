"""What an encoder expects before queries and before passages."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from touche_rad.text import packaged_table

TASK: Final = "Given a claim, find claims and arguments about the same question"
"""The default instruction of encoders that are told what to find."""
_NAME: Final = re.compile(r"(.+?)(?:\(instruction=(.*)\))?", re.DOTALL)


class Prompts(NamedTuple):
    """The texts before a query and before a passage."""

    query: str = ""
    passage: str = ""


NO_PROMPTS: Final = Prompts()


def parse_name(name: str) -> tuple[str, str | None]:
    """Parse `MODEL` or `MODEL(instruction=TEXT)` into the model and the instruction."""
    match = _NAME.fullmatch(name)
    return (match[1], match[2]) if match else (name, None)


def prompts_of(model: str, instruction: str | None, saved: Prompts = NO_PROMPTS) -> Prompts:
    """Return the prompts of an encoder: those saved with the model, or those of the table.

    An instruction replaces the query's prompt, or the task in it; an empty one switches both off.
    """
    if instruction == "":
        return NO_PROMPTS
    name = model.rstrip("/").rpartition("/")[2].lower()
    usual = next((prompts for pattern, prompts in _table() if re.search(pattern, name)), NO_PROMPTS)
    if instruction is None and any(saved):
        return saved
    if instruction is None or "{task}" in usual.query:
        return usual._replace(query=usual.query.replace("{task}", instruction or TASK))
    return Prompts(f"{instruction.rstrip()} ", usual.passage or saved.passage)


@cache
def _table() -> list[tuple[str, Prompts]]:
    rows = packaged_table(__package__, "instructions.toml")["encoder"]
    return [(row.pop("pattern"), Prompts(**row)) for row in rows]
