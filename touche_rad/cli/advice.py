"""The commands that a user can type on a run."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from touche_rad.errors import InputError, UserError

if TYPE_CHECKING:
    from touche_rad.files import Kind


def with_repair(error: InputError, otherwise: str = "") -> UserError:
    """Return an error with what to do with a damaged line of a run."""
    from touche_rad.files import detect_kind
    from touche_rad.score.evaluations import how_to_repair
    from touche_rad.score.validation import OFFICIAL

    path = Path(error.path)
    with suppress(UserError):  # of a file that has no kind
        # The rest of a compressed file is lost.
        if error.line and path.suffix != ".gz" and detect_kind(path) in OFFICIAL:
            return UserError(f"{error}{how_to_repair(path)}{otherwise}")
    return error


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
    words = []
    for part in template.split():
        word = part.format_map(names)
        # The name of a file may look like an option.
        words.append(f"./{word}" if word.startswith("-") and word != part else word)
    while words[-2] == "-o" and os.path.exists(words[-1]):
        out = Path(words[-1])
        words[-1] = str(out.with_stem(f"{out.stem}-2"))
    return words


def next_after(kind: Kind, run: Path, source: Path, index: str | None = None) -> list[list[str]]:
    """Return what a user would call on a finished run, whose output is of this kind."""
    return [command_on(run, template, source, index) for template in _NEXT[kind]]
