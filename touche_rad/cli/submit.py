"""The command `submit`: it tries a plugin, or prints the command line of TIRA's client."""

from __future__ import annotations

import filecmp
import os
import re

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import Label, print_text, say
from touche_rad.cli.program import command
from touche_rad.cli.trial import TrialOptions, tell_forwarded, try_plugins
from touche_rad.demo import is_demo
from touche_rad.errors import OptionError, UserError
from touche_rad.files.records import refuse_links_out
from touche_rad.plugins import registered
from touche_rad.text import printable, shell_words
from touche_rad.tira.submission import COLLECTIONS, PLUGINS, check_host, load


@opt.options
class SubmitOptions(TrialOptions):
    """The options of `submit`."""

    name: str | None = opt.argument("[NAME]", required=False)


@command(
    "submit grounded | sh",
    "submit --collection arguments.jsonl -d grounded",
    "submit --collection arguments.jsonl -d 'grounded(k=5)' --save ours",
)
def submit_command(options: SubmitOptions) -> int:
    """Try a plugin before it is submitted, and print the command line of tira-cli.

    With --collection and a debater or a judge: check the collection, the plugin and the model,
    build the index, play three claims with our simulated user (also with --official), judge them,
    check the files, copy what the image needs, and print what to run next. The first step that
    fails ends the trial. It works without a network, and uploads nothing.

    With NAME, an entry of tira.yml: print its command line. Without both: list the entries.
    tira-cli builds the image, runs it on a small dataset and validates the output.
    """
    name = options.name
    collection = options.collection
    has_plugin = bool(options.debater or options.judge)
    is_trial = has_plugin or options.official or options.save is not None
    if is_trial != (collection is not None and name is None) or is_trial != has_plugin:
        raise OptionError(
            "a trial needs both: submit --collection ARGUMENTS -d NAME (or -j NAME), and no entry"
        )
    submission = load(options.file)
    if is_trial and collection:
        try_plugins(options, submission, collection)
        return 0

    if name is None:
        width = max(map(len, submission.software)) + 2
        click.secho(f"{'entry':{width}}sub-task  user      command", bold=True)
        for name, software in submission.software.items():
            user = software.user or ""
            start = printable(f"{name:{width}}{software.sub_task:<10}{user:10}")
            print_text(printable(software.command), start, " " * len(start))
        return 0

    # The image must have the collection and the files of plugins.
    software = submission.find(name)
    repository = options.file.parent
    if collection:
        software = software.with_collection(collection)
    used = repository / software.collection
    copies = [used] if software.collection else []
    for file in re.findall(r"/opt/plugins/([^/]+?\.py)\b", software.command):
        copies.append(repository / PLUGINS / file)
    refuse_links_out(repository, copies)
    for copy in copies:
        if not copy.is_file():
            raise UserError(f"{copy}: not found: the image takes it from there: copy it there")
        original = repository / copy.name
        # The name of a collection does not tell where it is from.
        if copy != used and original.is_file() and not filecmp.cmp(original, copy, shallow=False):
            command = shell_words("cp", original, copy)
            say(f"{copy} is not {original}; to renew it: {command}", Label.WARNING)
    judge = re.search(r" -j '?([\w-]+)", software.command)
    plugin = registered("judge").get(judge[1]) if judge else None
    reads_index = plugin is None or "index" in plugin.uses
    if is_demo(used) if software.collection else reads_index:
        unfit = (
            f"{name} is not fit to upload: demo index; build the image with the task's "
            f"collection: submit {name} --upload --collection {COLLECTIONS}/FILE"
        )
        if options.upload:
            raise UserError(unfit)
        say(unfit, Label.NOTE)
    if "OPENAI_BASE_URL" in software.forward:
        check_host(os.environ.get("OPENAI_BASE_URL", ""), "OPENAI_BASE_URL")
    unset = [variable for variable in software.forward if not os.environ.get(variable)]
    if unset:
        line = f"{', '.join(unset)}: export them for TIRA's client"
        say(f"not set: {line} (OPENAI_API_KEY=EMPTY for a server without a key)", Label.WARNING)
    words = submission.add(name, software).words(name, path=str(repository), upload=options.upload)
    tell_forwarded(software)
    click.echo(shell_words(*words))
    return 0
