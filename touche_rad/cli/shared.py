"""The options that mean the same in every verb, and what they are turned into."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.models import Model
    from touche_rad.plugins import Services

F = TypeVar("F", bound=Callable[..., Any])

_OPTION = re.compile(
    r"^(?:(debater|judge|panel|retriever|user|model|vllm)\.)?([A-Za-z_][\w-]*)=(.*)$", re.DOTALL
)
_SOURCES = {
    ParameterSource.COMMANDLINE: "flag",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
    ParameterSource.DEFAULT: "default",
    ParameterSource.PROMPT: "prompt",
}

debater = click.option(
    "-d", "--debater", default="grounded", show_default=True, envvar="TOUCHE_RAD_DEBATER",
    metavar="NAME", help="Who answers (touche-rad list).",
)  # fmt: skip
judge = click.option(
    "-j", "--judge", default="grounded", show_default=True, envvar="TOUCHE_RAD_JUDGE",
    metavar="NAME", help="Who judges (touche-rad list).",
)  # fmt: skip
index = click.option(
    "-i", "--index", envvar="TOUCHE_RAD_INDEX", metavar="DIR",
    help="The argument index (touche-rad index). [default: one made from the demo collection]",
)  # fmt: skip
spare_index = click.option(
    "--spare-index", envvar="TOUCHE_RAD_SPARE_INDEX", metavar="DIR",
    help="An index that is asked while the first one (a server's) is down.",
)  # fmt: skip
seed = click.option(
    "--seed", type=int, default=0, show_default=True, envvar="TOUCHE_RAD_SEED",
    help="Where any choice is by chance, it is this chance.",
)  # fmt: skip
max_words = click.option(
    "--max-words", type=click.IntRange(0), default=60, show_default=True,
    envvar="TOUCHE_RAD_MAX_WORDS", help="Cut answers at a sentence's end; 0 cuts none.",
)  # fmt: skip
deadline = click.option(
    "--deadline", type=click.FloatRange(0, min_open=True), envvar="TOUCHE_RAD_DEADLINE",
    metavar="SECONDS", help="Seconds a debater has for an answer before a poorer one goes out.",
)  # fmt: skip
workers = click.option(
    "--workers", type=click.IntRange(1), default=4, show_default=True,
    envvar="TOUCHE_RAD_WORKERS", help="Debates under work at once.",
)  # fmt: skip
metadata = click.option(
    "--metadata/--no-metadata", default=None, envvar="TOUCHE_RAD_METADATA",
    help="Write ir_metadata beside the run: energy, hardware, git state (needs touche-rad[tira]). "
    "[default: only under TIRA]",
)  # fmt: skip
skip_bad = click.option("--skip-bad", is_flag=True, help="Go on past bad lines, and count them.")
restart = click.option(
    "--restart", is_flag=True, help="Begin anew even where an earlier run could go on."
)
quiet = click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print what a program would read.")


def output(help_text: str, metavar: str = "FILE") -> Callable[[F], F]:
    """Add `--output`, `--option` and the `-o` that means either of them."""

    def add(function: F) -> F:
        short = click.option(
            "-o", "short", multiple=True, metavar=f"{metavar}|KEY=VALUE", help=help_text
        )
        long_output = click.option("--output", metavar=metavar, help="The same, as a path alone.")
        long_option = click.option(
            "--option", multiple=True, metavar="KEY=VALUE",
            help="An option of the plugin (touche-rad list NAME), also as -o KEY=VALUE.",
        )  # fmt: skip
        return short(long_output(long_option(function)))

    return add


@dataclass(frozen=True)
class Chosen:
    """What `-o` was given: at most one path, and the plugins' options by whose they are."""

    path: Path | None = None
    options: Mapping[str, dict[str, str]] = field(default_factory=dict)

    def of(self, whose: str) -> dict[str, str]:
        """Return the options of one plugin, as strings."""
        return self.options.get(whose, {})


def choose(
    ctx: click.Context, main: str, short: tuple[str, ...], long: str | None, option: tuple[str, ...]
) -> Chosen:
    """Tell paths from options; an option without a prefix is the verb's main plugin's.

    A flag replaces what the settings file says for the same key.
    """
    paths = [long] if long else []
    options: dict[str, dict[str, str]] = {}
    for given in (*_from_file(ctx), *short, *option):
        match = _OPTION.match(given)
        if match:
            whose, key, value = match.groups()
            options.setdefault(whose or main, {})[key.replace("-", "_")] = value
        elif given in option:
            raise UserError(f"--option {given}: expected KEY=VALUE")
        else:
            paths.append(given)
    if len(set(paths)) > 1:
        raise UserError(f"-o names more than one output: {', '.join(paths)}")
    return Chosen(Path(paths[0]) if paths else None, options)


def _from_file(ctx: click.Context) -> tuple[str, ...]:
    if ctx.get_parameter_source("short") == ParameterSource.DEFAULT_MAP:
        return ()
    return tuple(given for given in (ctx.default_map or {}).get("short", ()))


def show_config(function: F) -> F:
    """Add `--show-config`: each value of the verb with where it comes from, and nothing done."""

    def show(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            ctx.meta["show_config"] = True

    return click.option(
        "--show-config", is_flag=True, expose_value=False, is_eager=True, callback=show,
        help="Print each setting with its source, and stop.",
    )(function)  # fmt: skip


def of_a_run(function: F) -> F:
    """Add what every run over debates takes, whatever it does with them."""
    for option in (show_config, quiet, metadata, restart, skip_bad, seed, workers, deadline):
        function = option(function)
    return function


class Verb(click.Command):
    """A command that can tell where each of its values comes from."""

    def invoke(self, ctx: click.Context) -> Any:
        """Print the settings instead of doing the work, where that was asked."""
        if not ctx.meta.get("show_config"):
            return super().invoke(ctx)
        hidden = _hiding()
        for name, value in sorted(ctx.params.items()):
            source = ctx.get_parameter_source(name)
            where = _SOURCES.get(source, "default") if source else "default"
            if where == "file" and ctx.obj is not None:
                where = f"file {ctx.obj.path}"
            label = "-o" if name == "short" else name.replace("_", "-")
            click.echo(f"{label} = {_shown(value, hidden)}  ({where})")
        return 0

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let `--show-config` do without the arguments that the work would need."""
        if "--show-config" in args:
            for parameter in self.params:
                parameter.required = False
        return super().parse_args(ctx, args)


def _hiding() -> re.Pattern[str] | None:
    """Find the value of any plugin's secret option, also of a plugin that is named in another's."""
    from touche_rad.plugins import secret_names

    names = "|".join(re.escape(name).replace("_", "[_-]") for name in sorted(secret_names()))
    return re.compile(rf"(?<![\w-])({names})=.*", re.DOTALL) if names else None


def _shown(value: Any, hidden: re.Pattern[str] | None) -> str:
    if isinstance(value, tuple | list):
        return " ".join(_shown(item, hidden) for item in value) or "none"
    told = "none" if value is None else str(value)
    return hidden.sub(r"\1=***", told) if hidden else told


def services(
    index_place: str | None, seed: int, spare: str | None = None, model: Model | None = None
) -> Services:
    """Open what plugins may use. Without an index given, the demo collection's is made once."""
    from touche_rad.plugins import Services, open_index
    from touche_rad.spare import SparedIndex

    place = index_place or str(_demo_index())
    if spare is None:
        return Services(open_index(place), seed, model)
    return Services(SparedIndex(lambda: open_index(place), open_index(spare)), seed, model)


def _demo_index() -> Path:
    from touche_rad.demo import ensure_index

    return ensure_index()
