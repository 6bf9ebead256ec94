"""The command `demo`."""

from __future__ import annotations

import re
import shlex
import sys
import time
from pathlib import Path
from typing import Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import line_of, next_step, print_command
from touche_rad.cli.program import command, run
from touche_rad.demo import demo_file
from touche_rad.errors import WorkError
from touche_rad.files import check_output
from touche_rad.files.records import make_folder, refuse_links

_SIMULATE: Final = "simulate {claims} -i {out}/index --turns 3 --seed {seed} -d "
_TITLE: Final = "--title 'touche-rad demo: two "
STEPS: Final = {
    "Build an argument index of the demo collection": "index {arguments} -o {out}/index",
    "Play ten debates of 3 turns with the debater grounded": f"{_SIMULATE} grounded"
    " -o {out}/simulations-grounded.jsonl",
    "Play ten debates of 3 turns with the debater verbatim": f"{_SIMULATE} verbatim"
    " -o {out}/simulations-verbatim.jsonl",
    "Judge the debates of the debater grounded": "judge {out}/simulations-grounded.jsonl"
    " -i {out}/index -j grounded -o {out}/grounded.jsonl",
    "Judge the debates of the debater verbatim": "judge {out}/simulations-verbatim.jsonl"
    " -i {out}/index -j grounded -o {out}/verbatim.jsonl",
    "Judge twenty labelled debates with the judge grounded": "judge {debates} -j grounded"
    " -o {out}/judge-grounded.jsonl",
    "Judge twenty labelled debates with the judge length": "judge {debates} -j length"
    " -o {out}/judge-length.jsonl",
    "Score the judges against the labels": "score {out}/judge-grounded.jsonl"
    " {out}/judge-length.jsonl {labels} -o {out}/scores",
    "Write a report of the judges": "report {out}/judge-grounded.jsonl {out}/judge-length.jsonl"
    f" --labels {{labels}} -o {{out}}/report.html {_TITLE}judges and the labels'",
    "Write a report of the debaters": "report {out}/grounded.jsonl {out}/verbatim.jsonl"
    f" -o {{out}}/debaters.html {_TITLE}debaters'",
}
"""Titles and command lines."""
_OUTPUTS: Final = tuple(re.findall(r"-o {out}/(\S+)", " ".join(STEPS.values())))
"""What the steps write; each of them may write its own output again."""


@opt.offering("replace", "seed", "quiet")
class DemoOptions(opt.Common):
    """The options of `demo`."""

    output: Path = opt.output("Folder for all files.", "DIR", default=Path("demo"))


@command("demo", "demo -o my-demo")
def demo_command(options: DemoOptions) -> None:
    """Index, simulate, judge, score and report on the bundled data, in about a minute.

    Each step is printed as the command line that you could type.
    """
    out = options.output
    quiet = options.quiet
    if out.is_file() or not all(path.name.startswith(_OUTPUTS) for path in out.glob("*")):
        check_output(out, replace=options.replace)
    make_folder(out)
    refuse_links(out)  # the steps name files in it
    start = time.monotonic()
    files = {
        path.partition(".")[0]: str(demo_file(path))
        for path in ("arguments.jsonl", "claims.tsv", "debates.jsonl", "labels.jsonl")
    }
    for title, template in STEPS.items():
        words = [part.format(out=out, seed=options.seed, **files) for part in shlex.split(template)]
        words.append("--replace")  # the folder has nothing but the demo's own files
        line = line_of(words)
        if quiet and words[0] != "score":
            words.append("--quiet")
        if not quiet:
            click.secho(f"\n{title}", bold=True)
            print_command(line)
        sys.stdout.flush()
        code = run(words, is_step=True)
        if code:
            raise WorkError(f"demo: {line} failed with exit code {code}")
    if not quiet:
        click.echo(f"\nDone in {time.monotonic() - start:.0f} s. All files: {out.resolve()}")
    click.echo(f"Report: {out.resolve() / 'report.html'}")
    next_step(["respond", "--say", "Zoos should be closed."])
