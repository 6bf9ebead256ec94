"""The command `demo`."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import next_step
from touche_rad.demo import demo_file
from touche_rad.errors import WorkError

STEPS: Final = (
    ("Build an argument index of the demo collection", "index {arguments} -o {out}/index"),
    *(
        (
            f"Play ten debates of 3 turns with the debater {name}",
            f"simulate {{claims}} -d {name} -i {{out}}/index -o {{out}}/simulations-{name}.jsonl"
            " --turns 3 --seed {seed}",
        )
        for name in ("grounded", "verbatim")
    ),
    *(
        (
            f"Judge the debates of the debater {name}",
            f"judge {{out}}/simulations-{name}.jsonl -j grounded -o {{out}}/{name}.jsonl",
        )
        for name in ("grounded", "verbatim")
    ),
    *(
        (
            f"Judge twenty labelled debates with the judge {name}",
            f"judge {{debates}} -j {name} -o {{out}}/judge-{name}.jsonl",
        )
        for name in ("grounded", "length")
    ),
    (
        "Score the judges against the labels",
        "score {out}/judge-grounded.jsonl {out}/judge-length.jsonl {labels} -o {out}/scores",
    ),
    (
        "Write a report of the judges",
        "report {out}/judge-grounded.jsonl {out}/judge-length.jsonl --labels {labels}"
        " -o {out}/report.html --title 'touche-rad demo: two judges and the labels'",
    ),
    (
        "Write a report of the debaters",
        "report {out}/grounded.jsonl {out}/verbatim.jsonl -o {out}/debaters.html"
        " --title 'touche-rad demo: two debaters'",
    ),
)
"""Titles and command lines."""
_OUTPUTS: Final = tuple(
    word.removeprefix("{out}/")
    for _, line in STEPS
    for flag, word in pairwise(line.split())
    if flag == "-o"
)
"""What the steps write; each of them may write its own output again."""


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of `demo`."""

    output: Path = opt.output("Folder for all files.", "DIR", default=Path("demo"))
    replace: bool = opt.REPLACE
    seed: int = opt.SEED
    quiet: bool = opt.QUIET


@opt.command("demo", "demo", "demo -o my-demo", "demo --seed 7 --quiet")
def demo_command(options: DemoOptions) -> None:
    """Index, simulate, judge, score and report on the bundled data, in about a minute.

    Each step is printed as the command line that you could type.
    """
    from touche_rad.cli import run
    from touche_rad.files import check_output

    out, quiet = options.output, options.quiet
    if out.is_file() or not all(path.name.startswith(_OUTPUTS) for path in out.glob("*")):
        check_output(out, replace=options.replace)
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    files = {
        path.partition(".")[0]: str(demo_file(path))
        for path in ("arguments.jsonl", "claims.tsv", "debates.jsonl", "labels.jsonl")
    }
    for title, template in STEPS:
        words = [part.format(out=out, seed=options.seed, **files) for part in shlex.split(template)]
        words.append("--replace")  # the folder has nothing but the demo's own files
        line = f"touche-rad {shlex.join(words)}"
        if quiet and words[0] != "score":
            words.append("--quiet")
        if not quiet:
            click.secho(f"\n{title}", bold=True)
            click.echo(f"$ {line}")
        sys.stdout.flush()
        code = run(words, is_step=True)
        if code:
            raise WorkError(f"demo: {line} failed with exit code {code}")
    if not quiet:
        click.echo(f"\nDone in {time.monotonic() - start:.0f} s. All files: {out.resolve()}")
    click.echo(f"Report: {(out / 'report.html').resolve()}")
    next_step(["respond", "--say", "Zoos should be closed."], quiet=quiet)
