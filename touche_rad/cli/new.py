"""The command `new`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from touche_rad.cli import options as opt
from touche_rad.cli.console import Label, next_step, say
from touche_rad.cli.program import command


@opt.options
class NewOptions:
    """The options of `new`."""

    kind: Literal["debater", "judge", "panel", "retriever", "criteria"] = opt.argument()
    name: str = opt.argument()
    output: Path | None = opt.output(
        "New folder of the package, or file of the criteria. [default: ./NAME, or ./NAME.toml]",
        "PATH",
    )


@command(
    "new debater my-debater",
    "new judge strict-judge -o ../strict-judge",
    "new criteria my-questions",
)
def new_command(options: NewOptions) -> None:
    """Write the package of a new plugin with one working step and a test of its contract.

    Of criteria, it writes a file of questions with comments, for --criteria of judge and others.
    """
    from touche_rad.testing.skeleton import write_criteria, write_package

    name = options.name
    if options.kind == "criteria":
        path = options.output or Path(f"{name}.toml")
        write_criteria(name, path)
        say(path, Label.WRITTEN)
        next_step(["prompts", "zsl", "--criteria", path])
        return
    out = options.output or Path(name)
    for path in write_package(options.kind, name, out):
        say(path, Label.WRITTEN)
    next_step(f"cd {out} && pip install -e . pytest && python -m pytest && touche-rad list {name}")
