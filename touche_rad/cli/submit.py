"""The command `submit`: it tries a plugin, or prints the command line of TIRA's client."""

from __future__ import annotations

import filecmp
import os
import re
import shlex
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from touche_rad.cli import options as opt
from touche_rad.cli.console import Label, print_text, say
from touche_rad.cli.program import command
from touche_rad.cli.trial import Trial, TrialOptions, commit_commands
from touche_rad.demo import is_demo
from touche_rad.errors import OptionError, ToucheRadError, UserError
from touche_rad.plugins.registry import IMPORTED
from touche_rad.text import clean, printable
from touche_rad.tira.submission import COLLECTIONS, PLUGINS, Software, Submission, check_host, load

OF_TRIAL: Final = "debater judge model official claims first turns output build save".split()
"""The options that only a trial uses."""


@opt.options
class SubmitOptions(TrialOptions):
    """The options of `submit`."""

    name: str | None = opt.argument(str, "[NAME]", required=False)
    dataset: str | None = opt.option(
        str, "Dataset for the trial run. [default: the dataset of the sub-task]", metavar="ID"
    )
    upload: bool = opt.flag("Print the command that uploads; without it, only a trial run.")


@command(
    "submit",
    "submit grounded | sh",
    "submit --collection arguments.jsonl -d grounded",
    "submit --collection arguments.jsonl -d 'grounded(k=5)' --save ours",
)
def submit_command(options: SubmitOptions) -> int:
    """Try a plugin before it is submitted, and print the command line of tira-cli.

    With --collection and a debater or a judge: check the collection, the plugin and the model,
    build the index, play the first claims with our simulated user (also with --official), judge
    them, check the files, and print what to run next. The first step that fails ends the trial.
    It works without a network, and uploads nothing.

    With NAME, an entry of tira.yml: print its command line. Without both: list the entries.
    tira-cli builds the image, runs it on a small dataset and validates the output.
    """
    name = options.name
    collection = options.collection
    source = click.get_current_context().get_parameter_source
    typed = [f"--{key}" for key in OF_TRIAL if source(key) is ParameterSource.COMMANDLINE]
    if typed and (name is not None or collection is None):
        raise OptionError(
            f"{', '.join(typed)}: for a trial only: submit --collection ARGUMENTS -d NAME, no entry"
        )
    if name is None and collection is not None:
        if options.debater is None and options.judge is None:
            raise OptionError("submit --collection: name what to try, with -d NAME or -j NAME")
        return _try(options, collection)

    submission = load(options.file)
    if name is None:
        width = max(map(len, submission.software)) + 2
        click.secho(f"{'entry':{width}}sub-task  user      command", bold=True)
        for name, software in submission.software.items():
            user = software.user or ""
            start = f"{name:{width}}{software.sub_task:<10}{user:10}"
            print_text(software.command, start, " " * len(start))
        return 0

    # What the image gets: the collection, and the files of plugins as they were tried.
    entry = submission.find(name)
    repository = options.file.parent
    if collection is not None:
        folder = repository / COLLECTIONS
        if collection.resolve() != (folder / collection.name).resolve():
            raise UserError(
                f"{collection}: the image takes collections from {folder}: "
                f"cp {collection} {folder}/"
            )
        entry = entry.with_collection(collection.name)
    used = repository / entry.collection
    if entry.collection and not used.is_file():
        raise UserError(f"{used}: not found: copy the collection of {name} there")
    for file in re.findall(r"/opt/plugins/([^/]+?\.py)\b", entry.command):
        copy = repository / PLUGINS / file
        original = Path(file)
        for path in map(Path, IMPORTED):
            if path.name == file:
                original = path  # the last one that was imported counts
        if not copy.is_file():
            raise UserError(f"{copy}: not found: run cp {original} {copy.parent}/ and commit it")
        if original.is_file() and not filecmp.cmp(original, copy, shallow=False):
            raise UserError(f"{copy} differs from {original}: copy the right one over the other")
    if options.upload and (is_demo(used) if entry.collection else entry.sub_task == 1):
        raise UserError(
            f"{name} is not fit to upload: demo index; build the image with the task's "
            f"collection: submit {name} --upload --collection {COLLECTIONS}/FILE"
        )

    if "OPENAI_BASE_URL" in entry.forward:
        url = os.environ.get("OPENAI_BASE_URL", "")
        check_host(url, "OPENAI_BASE_URL")
        if url == "EMPTY":
            say("OPENAI_BASE_URL is EMPTY: only the cache answers", Label.WARNING)
    unset = [variable for variable in entry.forward if not os.environ.get(variable)]
    if unset:
        pronoun = "it" if len(unset) == 1 else "them"
        line = f"{', '.join(unset)}: export {pronoun} for TIRA's client"
        say(f"not set: {line} (OPENAI_API_KEY=EMPTY for a server without a key)", Label.WARNING)
    commands = commit_commands(repository)
    if commands:
        say("there are uncommitted files, which TIRA's client refuses", Label.WARNING)
    for line in commands:
        say(line, Label.NEXT, wraps=False)
    click.echo(_client_command(submission, name, entry, options, upload=options.upload))
    return 0


def _client_command(
    submission: Submission, name: str, software: Software, options: SubmitOptions, *, upload: bool
) -> str:
    words = submission.add(name, software).words(
        name, path=str(options.file.parent), dataset=options.dataset, upload=upload
    )
    return shlex.join(words)


def _try(options: SubmitOptions, collection: Path) -> int:
    """Run the trial step by step, and print what to run next."""
    trial = Trial(options, collection)
    rest = " " * 19
    for name, do in trial.steps():
        try:
            result = do()
        except (click.ClickException, ToucheRadError, OSError) as error:
            mark = click.style(f"{'failed':7}", fg="red")
            print_text(clean(printable(str(error))), f"{mark}{name:11} ", rest)
            return 1
        if result:
            mark = click.style(f"{'ok':7}", fg="green")
            print_text(clean(printable(result)), f"{mark}{name:11} ", rest)
    upload = options.upload and not trial.demo
    click.secho("\nRun next:", bold=True)
    for line in trial.preparations():
        click.echo(f"  {printable(line)}")
    for name, software in trial.entries.items():
        line = _client_command(trial.submission, name, software, options, upload=upload)
        click.echo(f"  {line}")
    for line in trial.warnings:
        print_text(clean(printable(line)), click.style("warning: ", fg="yellow"), "  ")
    if trial.demo:
        click.echo("\nThis is the demo collection: not fit to upload.")
    elif not upload:
        click.echo("\nThis builds the image and tries it; without --dry-run it submits.")
    return 0
