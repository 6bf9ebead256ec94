"""The command `prompts`: the prompts of a plugin as they are sent, and its prompt files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import click

from touche_rad import files
from touche_rad.calls import Calls
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, next_step, print_json, say, with_criteria
from touche_rad.cli.program import command
from touche_rad.contest import to_contest
from touche_rad.criteria import Unit
from touche_rad.debate import Debate
from touche_rad.demo import demo_file
from touche_rad.errors import OptionError, UserError, nearest
from touche_rad.files.outputs import check_output
from touche_rad.files.records import make_folder
from touche_rad.models import Model, ModelError
from touche_rad.models.examples import Examples, PluginRequest
from touche_rad.plugins import (
    Kind,
    LoadedDebater,
    LoadedJudge,
    LoadedPanel,
    Plugin,
    registered,
)
from touche_rad.plugins.profiles import prompt_files
from touche_rad.session import Session
from touche_rad.text import count_of, printable

_KINDS: Final[tuple[Kind, ...]] = ("debater", "judge", "panel")


@opt.offering("criteria", "index", "seed", "as_json")
class PromptsOptions(opt.Common):
    """The options of `prompts`."""

    name: str | None = opt.argument("[NAME]", required=False)
    debates: Path | None = opt.argument("[DEBATES]", required=False)
    output: Path | None = opt.output(
        "Copy the prompt files to this folder, to change them; nothing is played.", "DIR"
    )
    plugin_options: opt.PluginOptions = opt.plugin_options("plugin")
    every: bool = opt.flag(
        "Print all requests. [default: the first one for each kind of answer]", "--all"
    )


@command(
    "prompts sinai -i demo -O profile=paper",
    "prompts zsl simulations.jsonl --json",
    "prompts composed -o my-prompts",
)
def prompts_command(options: PromptsOptions) -> None:
    """Print every prompt that a plugin sends, with the schema of its answer and its tokens.

    The plugin answers or judges the first debate in DEBATES (default: a demo debate). No model is
    needed: each request gets an example of its schema as the answer, so the texts in later prompts
    are examples too.

    To change prompts: copy them with -o DIR, edit the files, and pass -O prompts=DIR to any command
    that runs the plugin.
    """
    name = options.name
    if set(options.plugin_options) - {"plugin"}:
        raise OptionError("prompts calls no model: -O sets options of the plugin only")
    all_plugins = [plugin for kind in _KINDS for plugin in registered(kind).values()]
    with_files = [plugin for plugin in all_plugins if prompt_files(plugin.factory)]
    if name is None:
        overview = []
        for plugin in with_files:
            names = sorted(prompt_files(plugin.factory))
            overview.append({"kind": plugin.kind, "name": plugin.name, "prompts": names})
            if not options.as_json:
                click.echo(f"{plugin.kind:<8} {plugin.name:<14} {len(names)} prompts")
        if options.as_json:
            print_json(overview)
        else:
            click.echo("\ntouche-rad prompts NAME prints the prompts of a plugin as it sends them.")
        return

    # Some plugins that ask a model send the prompts of others only. A name that several kinds have
    # is that of a plugin with prompt files, and of the first kind.
    asking = [plugin for plugin in all_plugins if plugin.uses_model]
    plugins = {plugin.name: plugin for plugin in (*reversed(asking), *reversed(with_files))}
    if name not in plugins:
        raise OptionError(f"no plugin {name!r} has prompts{nearest(name, plugins)}")
    plugin = plugins[name]
    if options.output:
        # Copy the prompt files of a plugin to a new folder.
        folder = options.output
        paths = prompt_files(plugin.factory).values()
        check_output(folder, replace=False, fix="choose another folder with -o")
        if not paths:
            raise OptionError(
                f"{plugin.name} has no prompt files of its own; leave out -o to see its prompts"
            )
        make_folder(folder)
        for path in paths:
            shutil.copy(path, folder / path.name)
        say(folder, Label.WRITTEN)
        next_step(
            ["prompts", plugin.name, "-O", f"prompts={folder}", *with_criteria(options.criteria)]
        )
        return

    requests = _play(plugin, options)
    if options.as_json:
        print_json([{**vars(request), "tokens": request.tokens} for request in requests])
        return
    printed_schemas = set()
    for number, request in enumerate(requests, 1):
        if options.every or request.schema_name not in printed_schemas:
            _print_request(number, request)
        printed_schemas.add(request.schema_name)
    tokens = sum(request.tokens for request in requests)
    calls = count_of(len(requests), "call")
    say(f"{calls}, about {tokens} prompt tokens (estimate: 4 letters per token)")


def _play(plugin: Plugin, options: PromptsOptions) -> list[PluginRequest]:
    """Return the requests of a plugin that processes the first debate."""
    source = options.debates or demo_file("debates.jsonl")
    debate = next((debate for debate, _ in files.read_views(source)), None)
    if not debate:
        raise UserError(f"{source}: expected at least one debate")
    backend = Examples()
    with Session(options.seed, options.criteria) as session:
        session.model = Model(backend)
        if plugin.kind == "debater" or "index" in plugin.needs:
            session.index = session.close_index_later(prepare.open_index_of(options, or_demo=True))
        loaded = plugin.make(session.services, options.plugin_options["plugin"])
        session.run(_answer_or_judge, loaded, debate, session.criteria.unit)
    return backend.requests


async def _answer_or_judge(plugin: object, debate: Debate, unit: Unit) -> None:
    """Let a plugin process the debate; a step that does not accept its example ends the play."""
    call = Calls()
    try:
        if isinstance(plugin, LoadedPanel):
            await call(plugin.judge, to_contest(debate))
        elif isinstance(plugin, LoadedDebater):
            await call(plugin.answer, debate.before_response())
        elif isinstance(plugin, LoadedJudge):
            await call(plugin.judge, debate.views(unit)[-1])
    except ModelError as error:
        say(f"the play ended early: {error}")


def _print_request(number: int, request: PluginRequest) -> None:
    """Print the messages of a request, and what an answer must be."""
    answer = request.schema_name
    if not answer:
        answer = f"one of {', '.join(request.choices)}" if request.choices else "text"
    click.secho(f"== {number}. {answer}, about {request.tokens} prompt tokens", bold=True)
    for message in request.messages:
        click.secho(f"-- {message['role']}", bold=True)
        click.echo(printable(message["content"]))
    if request.schema is not None:
        click.secho("-- schema of the answer", bold=True)
        print_json(request.schema, None)
    click.echo()
