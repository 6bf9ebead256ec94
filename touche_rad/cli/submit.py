"""The command `submit`."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any, Final

import click

from touche_rad.cli import old_options as opt
from touche_rad.cli.console import terminal_width
from touche_rad.errors import OptionError, UserError
from touche_rad.text import clean, printable

MARKS: Final = {True: ("ok", "green"), False: ("failed", "red")}


@opt.command(
    "submit",
    "submit grounded | sh",
    "submit --collection arguments.jsonl -d grounded",
    "submit --collection arguments.jsonl -d 'grounded(k=5)' --save ours",
)
@click.argument("name", required=False, metavar="[NAME]")
@opt.options(
    opt.file("--collection", "Arguments that the image indexes; without NAME, start a trial."),
    opt.plugin("-d", "--debater", help="Debater to try: NAME or NAME(KEY=VALUE,...)."),
    opt.plugin("-j", "--judge", help="Judge to try: NAME or NAME(KEY=VALUE,...)."),
    opt.MODEL,
    opt.flag("--official", "Submit with the organisers' client and simulated user."),
    opt.file("--claims", "Claims to play in the trial. [default: the demo's claims]"),
    opt.integer("--first", "Number of claims that the trial plays.", 3),
    opt.integer("--turns", "User turns per debate in the trial.", 2),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        default="submission",
        show_default=True,
        metavar="DIR",
        help="Folder for the files of the trial.",
    ),
    opt.flag("--build", "Build the image with docker, podman or buildah."),
    click.option("--save", metavar="ENTRY", help="Write the entry to tira.yml under this name."),
    click.option(
        "--file",
        type=click.Path(path_type=Path),
        default="tira.yml",
        show_default=True,
        metavar="FILE",
        help="File with the submissions.",
    ),
    click.option(
        "--dataset",
        metavar="ID",
        help="Dataset for the trial run. [default: the dataset of the sub-task]",
    ),
    opt.flag("--upload", "Print the command that uploads; without it, only a trial run."),
    opt.JSON,
)
def submit_command(name: str | None, **given: Any) -> int:
    """Try a plugin before it is submitted, and print the command line of tira-cli.

    With --collection and a debater or a judge: check the collection, the plugin and the model,
    build the index, play and judge the first claims, check the files, and print what to run next.
    The first step that fails ends the trial. It works without a network, and uploads nothing.

    With NAME, an entry of tira.yml: print its command line. Without both: list the entries. A
    debater speaks to our simulated user, or with --official to the organisers'.
    tira-cli builds the image, runs it on a small dataset and validates the output.
    """
    from touche_rad.tira import submission

    plugins = [key for key in ("debater", "judge") if given[key] is not None]
    if plugins and (name is not None or given["collection"] is None):
        raise OptionError(
            "-d and -j are for a trial: submit --collection ARGUMENTS -d NAME (without an entry)"
        )
    if name is None and given["collection"] is not None:
        if not plugins:
            raise OptionError("submit --collection: name what to try, with -d NAME or -j NAME")
        return _try(given)
    read = submission.load(given["file"])
    if name is None:
        return _list(read, given)
    entry = read.find(name)
    if given["collection"] is not None:
        entry = _with_collection(entry, given["collection"], given["file"].parent)
    elif given["upload"] and entry.sub_task == 1 and not entry.has_collection:
        raise UserError(
            f"{name} is not fit to hand in: demo index; build the image with the task's "
            f"collection: submit {name} --upload --collection {submission.COLLECTIONS}/FILE"
        )
    click.echo(_line(read.add(name, entry), name, given, as_json=given["as_json"]))
    return 0


def _line(read: Any, name: str, given: dict[str, Any], *, as_json: bool = False) -> str:
    """Return the command line of TIRA's client for an entry."""
    how = {"path": str(given["file"].parent), "dataset": given["dataset"]}
    upload = given["upload"]
    if as_json:
        return json.dumps(read.words(name, **how, upload=upload), indent=2)
    line: str = read.command_line(name, **how, upload=upload)
    return line


def _with_collection(entry: Any, collection: Path, repository: Path) -> Any:
    """Return the entry with a collection, which must be where the image takes it from."""
    from touche_rad.tira.submission import COLLECTIONS

    place = repository / COLLECTIONS
    if not collection.is_file():
        raise UserError(f"{collection} does not exist: expected a file of arguments")
    if collection.resolve().parent != place.resolve():
        raise UserError(
            f"{collection}: the image takes collections from {place}: cp {collection} {place}/"
        )
    return entry.with_collection(collection.name)


def _list(read: Any, given: dict[str, Any]) -> int:
    if given["as_json"]:
        how = {"path": str(given["file"].parent), "dataset": given["dataset"]}
        lines = {one: read.words(one, **how, upload=given["upload"]) for one in read.software}
        click.echo(json.dumps(lines, indent=2))
        return 0
    width = max(map(len, read.software)) + 2
    click.secho(f"{'entry':{width}}sub-task  user      command", bold=True)
    for name, one in read.software.items():
        first = f"{name:{width}}{one.sub_task:<10}{one.user or '':10}"
        _print_wrapped(first, one.command)
    return 0


def _try(given: dict[str, Any]) -> int:
    """Run the trial step by step, and print what to run next."""
    from touche_rad.cli.trial import Trial
    from touche_rad.tira import submission

    read = submission.load(given["file"])
    given = {**given, "options": {}, "seed": 0}
    trial = Trial(given, given["file"].parent)
    steps = []
    for step in trial.steps():
        steps.append(step)
        if not given["as_json"]:
            _print_step(step.name, step.ok, step.found, step.fix)
    ok = all(step.ok for step in steps)
    upload = given["upload"] and not trial.demo
    following = trial.next_commands(
        lambda name, one: _line(read.add(name, one), name, {**given, "upload": upload})
    )
    if given["as_json"]:
        rows = [vars(step) for step in steps]
        click.echo(json.dumps({"ok": ok, "steps": rows, "next": following if ok else []}, indent=2))
    elif ok:
        click.secho("\nRun next:", bold=True)
        for line in following:
            click.echo(f"  {line}")
        if trial.demo:
            click.echo("\nThis is the demo collection: not fit to hand in.")
        elif not upload:
            click.echo("\nThis builds the image and tries it; without --dry-run it submits.")
    return 0 if ok else 1


def _print_step(name: str, ok: bool, found: str, fix: str) -> None:
    mark, colour = MARKS[ok]
    click.secho(f"{mark:7}", fg=colour, nl=False)
    _print_wrapped(f"{name:11} ", found, len(mark.ljust(7)))
    if fix:
        _print_wrapped(" " * 19, f"fix: {fix}")


def _print_wrapped(first: str, text: str, used: int = 0) -> None:
    """Print a text in a column behind its first words; `used` columns are printed already."""
    indent = used + len(first)
    lines = textwrap.wrap(
        clean(printable(text)),
        max(20, terminal_width() - indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
    click.echo(first + f"\n{' ' * indent}".join(lines))
