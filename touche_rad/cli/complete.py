"""Shell completion: plugins, their options and values, profiles, personas and files.

A shell calls `touche-rad` with `_TOUCHE_RAD_COMPLETE=SHELL_complete` and the words typed so far.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.plugins import Plugin

Items = list[CompletionItem]
VARIABLE: Final = "_TOUCHE_RAD_COMPLETE"
MODEL_KEYS: Final = ("at_once", "deadline", "max_tokens", "seed", "temperature")
"""The keys of `-O model.KEY=VALUE`."""

_BASH: Final = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value
    response=$(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    for completion in $response; do
        type=${completion%%%%,*} value=${completion#*,}
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            open) compopt -o nospace; COMPREPLY+=("$value") ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    """Completion in bash, which splits words at `=` and `:` and replaces only the last part."""

    source_template = _BASH
    _cut = ""

    def source(self) -> str:
        """Return the script."""
        return ShellComplete.source(self)

    def get_completion_args(self) -> tuple[list[str], str]:
        """Split the line up to the cursor; the last word is incomplete."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        incomplete = "" if not words or line[-1:].isspace() else words.pop()
        breaks = [incomplete.rfind(one) for one in os.environ.get("COMP_BREAKS", "") if one in "=:"]
        self._cut = incomplete[: max(breaks, default=-1) + 1]
        return words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return the type and the part of the value that bash inserts."""
        value = str(item.value)
        kind = "open" if item.type == "plain" and value.endswith(("=", ".")) else item.type
        return f"{kind},{value.removeprefix(self._cut)}"


def register() -> None:
    """Use our completion of bash; those of zsh and fish are click's."""
    add_completion_class(Bash)


def _descriptions() -> bool:
    """Whether the shell shows descriptions; reading them imports the plugins."""
    return not os.environ.get(VARIABLE, "").startswith("bash")


def _items(rows: Iterable[tuple[str, str]], incomplete: str) -> Items:
    return [
        CompletionItem(name, help=text or None)
        for name, text in rows
        if name.startswith(incomplete)
    ]


def plugins(
    kinds: Sequence[str], ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> Items:
    """Complete the names of plugins of these kinds."""
    return _items(_names(ctx, kinds), incomplete)


def _names(ctx: click.Context, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
    with_text = _descriptions()
    for kind in kinds:
        for name, plugin in _registered(ctx, kind).items():
            yield name, plugin.purpose if with_text else ""


def _registered(ctx: click.Context, kind: str) -> Mapping[str, Plugin]:
    """Return the plugins of a kind, with those of `--plugin` and of the settings file."""
    from touche_rad.plugins import registered

    root = ctx.find_root()
    if root.command.callback is not None:
        root.invoke(root.command.callback, **root.params)
    return registered(kind)  # type: ignore[arg-type]


def listed(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete the argument of `touche-rad list`: a kind or a plugin."""
    from touche_rad.plugins import KINDS

    kinds = [(f"{kind}s", "") for kind in KINDS if kind != "index"]
    return _items([*kinds, ("indexes", ""), *_names(ctx, KINDS)], incomplete)


def users(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete `--user`: the users, and the personas of a model."""
    from touche_rad.users.persona import bundled_personas

    names = [f"model:{name}" for name in bundled_personas()]
    return _items([(name, "") for name in ("rules", *names)], incomplete)


def files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete the path of a file."""
    return [CompletionItem(incomplete, type="file")]


def folders(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete the path of a folder."""
    return [CompletionItem(incomplete, type="dir")]


def plugin_options(
    main: str | None,
    known: Sequence[str],
    ctx: click.Context,
    parameter: click.Parameter,
    incomplete: str,
) -> Items:
    """Complete `-O`: keys, and values where they can be listed.

    Args:
        main: The plugin of a key without a prefix.
        known: The prefixes that the command has.
        ctx: The command line.
        parameter: The option.
        incomplete: What was typed.
    """
    key, equals, _ = incomplete.partition("=")
    prefix, dot, _ = key.rpartition(".")
    rows = list(_options(ctx, prefix or main))
    start = f"{prefix}{dot}"
    if equals:
        values = [
            (f"{key}={value}", "")
            for name, _, several in rows
            if f"{start}{name}" == key
            for value in several
        ]
        return _items(values, incomplete)
    keys = [(f"{start}{name}=", text) for name, text, _ in rows]
    others = [(f"{one}.", f"options of the {one}") for one in known if one != main]
    return _items([*keys, *(others if not dot else [])], incomplete)


def _options(ctx: click.Context, of: str | None) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name, the description and the possible values of each option."""
    if of == "model":
        yield from ((key, "", []) for key in MODEL_KEYS)
        return
    plugin = _selected(ctx, of) if of else None
    if plugin is None:
        return
    from touche_rad.cli.listing import describe_options

    profiles = [one.name for one in plugin.profiles()]
    for row in describe_options(plugin):
        values = ["true", "false"] if row["type"] == "boolean" else row["type"].split(" | ")
        listed = row["type"] == "boolean" or " | " in row["type"]
        found = profiles if row["name"] == "profile" else values if listed else []
        yield row["name"], row["description"], found


def _selected(ctx: click.Context, kind: str) -> Plugin | None:
    """Return the plugin that the command line names, or the default one."""
    params = ctx.params
    if kind == "user":
        from touche_rad.users import parse_user

        return parse_user(str(params.get("user") or "rules"), {}).plugin
    spec: Any = params.get("name" if kind == "plugin" else kind)
    for several in params.get(f"{kind}s") or ():
        spec = spec or several
    if spec is None:
        spec = next((one.default for one in ctx.command.params if one.name == kind), None)
    name = str(getattr(spec, "name", spec))
    kinds = {"judge": ("judge", "panel"), "plugin": ("debater", "judge", "panel")}
    for one in kinds.get(kind, (kind,)):
        if name in (found := _registered(ctx, one)):
            return found[name]
    return None


def script(program: click.Command, shell: str) -> str:
    """Return the script that a shell reads to complete `touche-rad`."""
    register()
    kind = get_completion_class(shell)
    if kind is None:
        raise UserError(f"there is no completion for {shell}")
    return kind(program, {}, "touche-rad", VARIABLE).source()
