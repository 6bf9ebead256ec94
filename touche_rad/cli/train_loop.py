"""The command `train loop`: SFT, and rounds of self-debate and DPO, from one plan."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from touche_rad import __version__, files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, line_of, say
from touche_rad.cli.help_text import Section
from touche_rad.cli.program import command, run
from touche_rad.cli.steps import COMMANDS, Steps, call_step
from touche_rad.credentials import trust_all
from touche_rad.demo import DEMO
from touche_rad.errors import UserError
from touche_rad.files.records import refuse_links, write_json, write_text
from touche_rad.plugins.digests import refuse_files_outside
from touche_rad.text import printable

if TYPE_CHECKING:
    from touche_rad.debate import Debate
    from touche_rad.papers.training_loop import Loop

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"


@opt.offering("quiet")
class LoopOptions(opt.Common):
    """The options of `train loop`."""

    plan: Path = opt.argument("PLAN.toml")
    output: Path = opt.output("Folder of the loop.", "DIR", required=True)
    replace: bool
    dry_run: bool = opt.flag(
        "Print the commands and check the packages; run nothing.", section=Section.RUN
    )
    trust: bool = opt.flag(
        "Send keys to the servers that the plan names, read the files that its options name, and "
        "allow each option of vLLM."
    )


@command(
    "train loop plan.toml -o loop",
    "train loop plan.toml -o loop --dry-run",
    "train loop other.toml -o loop --replace",
)
def loop_command(options: LoopOptions) -> None:
    """Train a debater's language model as InspireDebate does: SFT, then rounds of DPO.

    PLAN.toml names topics, the model, a teacher and a judge (docs/training.md). In each round the
    last model debates with itself, a panel judges, and DPO learns; then the model debates with its
    base on test topics. A stopped loop is resumed by the same command.
    """
    from touche_rad.models.model import open_backend
    from touche_rad.papers.training_loop import PLUGINS, Loop, load_loop, plugin_of, split_topics
    from touche_rad.score.words import number
    from touche_rad.training.recipe import check_packages

    loop = Loop(load_loop(options.plan), options.output)
    plugins = [plugin_of(loop.plan, key) for key in PLUGINS]
    if options.trust:
        trust_all()
    else:
        name = loop.plan.need_trust()
        if name:
            raise UserError(
                f"{options.plan}: serve.{name} may run code: confirm the plan with --trust"
            )
        names = [loop.plan.topics, *loop.plan.recorded]
        if loop.plan.index not in ("", DEMO):
            names.append(loop.plan.index)
        models = (loop.plan.teacher, loop.plan.judge_model, f"vllm:{loop.plan.model}")
        refuse_files_outside(options.plan, map(Path, names), models, plugins)
    commands = list(loop.commands())
    parts = split_topics(loop.plan)
    for words in commands:
        _check(words)
    if not options.trust:
        prepare.tell_servers(options.plan, [*models, str(loop.plan)], plugins)
    if options.dry_run:
        _print_plan(loop, commands, parts)
    open_model = partial(open_backend, f"vllm:{loop.plan.model}")  # starts nothing
    for check_installed in (check_packages, open_model):
        try:
            check_installed()
        except UserError as error:
            if not options.dry_run:
                raise
            say(error, Label.WARNING)
    if options.dry_run:
        return
    settings = {**loop.plan.model_dump(mode="json"), **loop.inputs()}
    refuse_links(loop.out)
    if not (loop.out / COMMANDS).is_file():
        files.check_output(loop.out, replace=False)
    elif options.replace:
        shutil.rmtree(loop.out)
    # A stopped loop goes on; one with another plan or other data is refused.
    with closing(Steps(loop.out, settings)) as steps:
        for name, topics in parts.items():
            write_text(loop.out / f"{name}.tsv", files.claims_text(topics))
        # Each has a process of its own, whose end frees the memory of the card.
        quiet = ["--quiet"] if options.quiet else []
        steps.run(commands, lambda words: call_step([*words, *quiet], stdout=subprocess.DEVNULL))
    scores = loop.scores()
    manifest = loop.out / MANIFEST
    record = {
        "format": FORMAT,
        "version": __version__,
        "plan": settings,
        "done": [line_of(words) for words in commands],
        "files": loop.results(),
        "rounds": scores,
    }
    write_json(manifest, record)
    for score in scores:
        base = number(score["base"])
        click.echo(f"round {score['round']}: base {base}, trained {number(score['trained'])}")
    say(manifest, Label.WRITTEN)


_TITLES: Final = {
    "simulate": "play debates",
    "judge": "judge these debates",
    "sft": "learn the speeches (SFT)",
    "preferences": "make pairs of a better and a worse speech",
    "dpo": "learn the pairs (DPO)",
}


def _print_plan(
    loop: Loop, commands: Sequence[Sequence[str]], parts: Mapping[str, Sequence[Debate]]
) -> None:
    """Print the commands below headings, and how many debates, calls and tokens are played.

    What judges ask depends on what is said in the debates.
    """
    number = -1
    with TemporaryDirectory() as folder:
        for name, topics in parts.items():
            write_text(Path(folder, f"{name}.tsv"), files.claims_text(topics))
        for step, words in enumerate(commands, 1):
            # The last word is the output, in the folder of its round.
            if number < 0 or not Path(words[-1]).is_relative_to(loop.folder(number)):
                number += 1
                name = "SFT" if number == 0 else "the model debates with itself, and learns by DPO"
                click.secho(f"\nRound {number}: {name}", bold=True)
            verb = words[1] if words[0] == "train" else words[0]
            click.secho(f"{step}. {_TITLES[verb]}", fg="cyan")
            click.echo(printable(f"   {line_of(words)}"))
            if verb == "simulate":
                topics_file = str(Path(folder, Path(words[1]).name))
                run([verb, topics_file, *words[2:], "--dry-run"], is_step=True)


def _check(words: Sequence[str]) -> None:
    """Parse a command, so that wrong options are told before the first command runs."""
    from touche_rad.cli.program import touche_rad

    command: click.Command | None = touche_rad
    context = click.Context(touche_rad)
    arguments = list(words)
    while isinstance(command, click.Group):
        command = command.get_command(context, arguments.pop(0))
    assert command
    try:
        command.make_context(command.name, arguments, parent=context)
    except click.ClickException as error:
        raise UserError(f"the plan: {command.name}: {error.format_message()}") from None
