"""The commands that a user can type on a run: the next ones, and the one that makes it again."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from touche_rad.cli.settings import SettingsFile

if TYPE_CHECKING:
    from touche_rad.files import Kind

_OF_OUTPUT: Final = {"-o", "--output", "--shard"}
"""Options with a value that decide no result."""
_FLAGS: Final = {"-q", "--quiet", "--replace", "--restart"}
"""Flags that decide no result."""


def words_of_call(source: Path, folder: Path) -> list[str]:
    """Return the running command for a status in a folder: the working folder, input and options.

    Of several inputs, each has a run of its own.
    """
    context = click.get_current_context()
    typed = (context.find_root().obj or SettingsFile()).words
    others = {*_OF_OUTPUT, *_FLAGS, str(source), *map(str, context.params.get("sources", ()))}
    options = [
        word for before, word in pairwise(typed) if before not in _OF_OUTPUT and word not in others
    ]
    return [os.path.relpath(".", folder), str(source), *options]


def command_of(run: Path) -> list[str]:
    """Return the command that made a run, with its input after its verb; empty if it is unknown.

    A run that was changed since was still made by the command of the status beside it. A status
    may be a stranger's, so it cannot advise to trust.
    """
    from touche_rad.files.outputs import STATUS, Status
    from touche_rad.files.records import path_beside, read_json

    with suppress(OSError, ValueError, LookupError):
        status = Status.model_validate(read_json(path_beside(run, STATUS)))
        folder = run.parent / status.command[0]
        words = [status.verb]
        for word in filter("--trust".__ne__, status.command[1:]):
            place = os.path.normpath(folder / word)
            words.append(place if os.path.exists(place) else word)
        return words
    return []


_JUDGE: Final = "judge {run} -i {index} -o {stem}.evaluations.jsonl"
_NEXT: Final = {
    "responses": (_JUDGE,),
    "simulations": ("check {run} --input {source} -i {index}", _JUDGE),
    "evaluations": ("check {run} --input {source}", "report {run} -o {stem}.html"),
    "contests": ("judge {run} -j grice -i {index} -o {stem}.outcomes.jsonl",),
    "outcomes": ("score {run} {source}", "report {run} --labels {source} -o {stem}.html"),
}
"""What a user would call on a finished run, by what the run has."""


def command_on(run: Path, template: str, source: object, index: str | None = None) -> list[str]:
    """Return a command on a run; its output gets a name that no other file has."""
    if not index:
        template = template.replace(" -i {index}", "")
    names = {"run": run, "stem": run.with_suffix(""), "source": source, "index": index}
    words = [part.format_map(names) for part in template.split()]
    while words[-2] == "-o" and os.path.exists(words[-1]):
        out = Path(words[-1])
        words[-1] = str(out.with_stem(f"{out.stem}-2"))
    return words


def next_after(kind: Kind, run: Path, source: Path, index: str | None = None) -> list[list[str]]:
    """Return what a user would call on a finished run, whose output is of this kind."""
    return [command_on(run, template, source, index) for template in _NEXT[kind]]
