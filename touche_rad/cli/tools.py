"""The commands `list`, `new`, `doctor` and `completion`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
from click import shell_completion

from touche_rad.cli import complete, prepare
from touche_rad.cli import options as opt
from touche_rad.cli.console import print_text, say
from touche_rad.errors import OptionError, nearest
from touche_rad.text import printable


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The options of `list`."""

    name: str | None = opt.argument(
        "[KIND|NAME]", shell_complete=complete.plugin_names, required=False
    )
    as_json: bool = opt.JSON


@opt.command("list", "list", "list judges", "list grounded", "list papers")
def list_command(options: ListOptions) -> None:
    """List debaters, judges, panels, retrievers, index backends and annotators.

    With KIND (such as judges), list the plugins of this kind. With NAME, show the options and
    profiles of this plugin. With papers, list the tables of papers for bench run.
    """
    from touche_rad.cli import listing
    from touche_rad.plugins import KINDS, registered

    name = options.name
    if name == "papers":
        listing.print_papers(as_json=options.as_json)
        return
    kinds = [one for one in KINDS if name in (one, *listing.plural_of(one))]
    plugins = [plugin for kind in kinds or KINDS for plugin in registered(kind).values()]
    detailed = name is not None and not kinds
    if detailed:
        names = {plugin.name for plugin in plugins}
        plugins = [plugin for plugin in plugins if plugin.name == name]
        if not plugins:
            names |= {listing.plural_of(kind)[0] for kind in KINDS}
            hint = nearest(str(name), names)
            hint = hint if "did you mean" in hint else " (touche-rad list shows all)"
            raise OptionError(f"there is no plugin {name!r}{hint}")
    rows = [listing.describe(plugin, detailed=detailed) for plugin in plugins]
    if options.as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif detailed:
        for row in rows:
            listing.print_plugin(row)
    else:
        listing.print_table(rows, model=prepare.names_model(opt.Common()))


@dataclass(frozen=True, kw_only=True)
class NewOptions:
    """The options of `new`."""

    kind: Literal["debater", "judge", "retriever"] = opt.argument()
    name: str = opt.argument()
    output: Path | None = opt.output("New folder of the package. [default: ./NAME]", "DIR")


@opt.command(
    "new",
    "new debater my-debater",
    "new judge strict-judge -o ../strict-judge",
    "new retriever my-retriever",
)
def new_command(options: NewOptions) -> None:
    """Write the package of a new plugin with one working step and a test of its contract."""
    from touche_rad.testing.skeleton import write_package

    name, folder = options.name, options.output or Path(options.name)
    for path in write_package(options.kind, name, folder):
        say(f"written: {path}")
    say(f"next: cd {folder} && pip install -e . && python -m pytest && touche-rad list {name}")


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(opt.ModelOptions):
    """The options of `doctor`."""

    index: str | None = opt.INDEX
    trace: bool = opt.TRACE
    plugin_options: opt.PluginOptions = opt.plugin_options(None)
    as_json: bool = opt.JSON


@opt.command(
    "doctor", "doctor", "doctor --json", "doctor -i index -m http://localhost:8000/v1#llama"
)
def doctor_command(options: DoctorOptions) -> int:
    """Check this machine, the plugins, the index and the language model.

    Each problem is printed with its fix; then the exit code is 1. "optional" marks what only some
    plugins need.
    """
    from touche_rad.cli.doctor import run_checks

    checks = run_checks(options)
    if options.as_json:
        click.echo(json.dumps(checks, ensure_ascii=False, indent=2))
    else:
        for check in _grouped(checks):
            mark = "ok" if check["ok"] else "optional" if check["optional"] else "missing"
            colour = {"ok": "green", "missing": "red"}.get(mark)
            first, rest = click.style(mark.ljust(9), fg=colour), " " * 9
            print_text(printable(f"{check['what']}: {check['found']}"), first, rest)
            if mark == "missing":
                print_text(printable(f"fix: {check['fix']}"), rest, rest)
    return 0 if all(check["ok"] or check["optional"] for check in checks) else 1


def _grouped(checks: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the checks, with one for all plugins of the same state: `found: debaters a, b; ...`."""
    from touche_rad.plugins import KINDS

    groups: dict[str, dict[str, list[str]]] = {}
    for check in checks:
        kind, _, name = check["what"].partition(" ")
        if kind not in KINDS or not name or not (check["ok"] or check["optional"]):
            yield check
        else:
            groups.setdefault(check["found"], {}).setdefault(kind, []).append(name)
    for found, kinds in groups.items():
        names = "; ".join(f"{kind} {', '.join(several)}" for kind, several in kinds.items())
        yield {"what": found, "found": names, "ok": found == "ready", "optional": True}


@dataclass(frozen=True, kw_only=True)
class CompletionOptions:
    """The options of `completion`."""

    shell: Literal["bash", "zsh", "fish"] = opt.argument()


@opt.command("completion", "completion bash", "completion zsh", "completion fish")
def completion_command(options: CompletionOptions) -> None:
    """Print the script that completes commands, plugins, options and files in a shell.

    For bash, add the line eval "$(touche-rad completion bash)" to ~/.bashrc; for zsh, the same with
    zsh to ~/.zshrc. For fish, write the script to ~/.config/fish/completions/touche-rad.fish.
    """
    from touche_rad.cli import touche_rad

    kind = shell_completion.get_completion_class(options.shell)
    assert kind is not None
    click.echo(kind(touche_rad, {}, "touche-rad", complete.VARIABLE).source())
