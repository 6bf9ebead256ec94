"""The command `submit`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import print_text
from touche_rad.cli.trial import SubmitOptions, Trial
from touche_rad.errors import OptionError, UserError
from touche_rad.text import clean, printable

if TYPE_CHECKING:
    from touche_rad.tira.submission import Software, Submission


@opt.command(
    "submit",
    "submit grounded | sh",
    "submit --collection arguments.jsonl -d grounded",
    "submit --collection arguments.jsonl -d 'grounded(k=5)' --save ours",
)
def submit_command(options: SubmitOptions) -> int:
    """Try a plugin before it is submitted, and print the command line of tira-cli.

    With --collection and a debater or a judge: check the collection, the plugin and the model,
    build the index, play and judge the first claims, check the files, and print what to run next.
    The first step that fails ends the trial. It works without a network, and uploads nothing.

    With NAME, an entry of tira.yml: print its command line. Without both: list the entries. A
    debater speaks to our simulated user, or with --official to the organisers'.
    tira-cli builds the image, runs it on a small dataset and validates the output.
    """
    from touche_rad.tira import submission

    name, collection = options.name, options.collection
    has_plugin = options.debater is not None or options.judge is not None
    if has_plugin and (name is not None or collection is None):
        raise OptionError(
            "-d and -j are for a trial: submit --collection ARGUMENTS -d NAME (without an entry)"
        )
    if name is None and collection is not None:
        if not has_plugin:
            raise OptionError("submit --collection: name what to try, with -d NAME or -j NAME")
        return _try(options, collection)
    entries = submission.load(options.file)
    if name is None:
        return _list(entries, options)
    entry = entries.find(name)
    if collection is not None:
        entry = _with_collection(entry, collection, options.file.parent)
    elif options.upload and entry.sub_task == 1 and not entry.has_collection:
        raise UserError(
            f"{name} is not fit to upload: demo index; build the image with the task's "
            f"collection: submit {name} --upload --collection {submission.COLLECTIONS}/FILE"
        )
    entries = entries.add(name, entry)
    words = _words(entries, name, options, upload=options.upload)
    click.echo(json.dumps(words, indent=2) if options.as_json else shlex.join(words))
    return 0


def _words(entries: Submission, name: str, options: SubmitOptions, *, upload: bool) -> list[str]:
    """Return the words of the command line of TIRA's client for an entry."""
    path = str(options.file.parent)
    return entries.words(name, path=path, dataset=options.dataset, upload=upload)


def _with_collection(entry: Software, collection: Path, repository: Path) -> Software:
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


def _list(entries: Submission, options: SubmitOptions) -> int:
    if options.as_json:
        lines = {
            one: _words(entries, one, options, upload=options.upload) for one in entries.software
        }
        click.echo(json.dumps(lines, indent=2))
        return 0
    width = max(map(len, entries.software)) + 2
    click.secho(f"{'entry':{width}}sub-task  user      command", bold=True)
    for name, one in entries.software.items():
        first = f"{name:{width}}{one.sub_task:<10}{one.user or '':10}"
        print_text(one.command, first, " " * len(first))
    return 0


def _try(options: SubmitOptions, collection: Path) -> int:
    """Run the trial step by step, and print what to run next."""
    from touche_rad.tira import submission

    entries = submission.load(options.file)
    trial = Trial(options, collection)
    steps = []
    for step in trial.steps():
        steps.append(step)
        if not options.as_json:
            mark, colour = ("ok", "green") if step.ok else ("failed", "red")
            first, rest = f"{click.style(f'{mark:7}', fg=colour)}{step.name:11} ", " " * 19
            print_text(clean(printable(step.found)), first, rest)
            if step.fix and not step.ok:
                print_text(f"fix: {step.fix}", rest, rest)
    ok = all(step.ok for step in steps)
    upload = options.upload and not trial.demo
    following = trial.next_commands(
        lambda name, one: _words(entries.add(name, one), name, options, upload=upload)
    )
    if options.as_json:
        rows = [vars(step) for step in steps]
        click.echo(json.dumps({"ok": ok, "steps": rows, "next": following if ok else []}, indent=2))
    elif ok:
        click.secho("\nRun next:", bold=True)
        for line in following:
            click.echo(f"  {line}")
        if trial.demo:
            click.echo("\nThis is the demo collection: not fit to upload.")
        elif not upload:
            click.echo("\nThis builds the image and tries it; without --dry-run it submits.")
    return 0 if ok else 1
