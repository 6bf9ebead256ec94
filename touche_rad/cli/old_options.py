"""The options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from touche_rad.cli import complete
from touche_rad.cli.options import Common, PluginOptions, PluginSpec
from touche_rad.cli.program import WAIT_SECONDS, Command
from touche_rad.errors import UserError

F = TypeVar("F", bound=Callable[..., Any])
Option = Callable[[Any], Any]

_KEY_VALUE: Final = re.compile(r"^(?:([a-z]+)\.)?([A-Za-z_][\w-]*)=(.*)$", re.DOTALL)


def command(name: str, *examples: str) -> Callable[[Callable[..., Any]], Command]:
    """Declare a command; each example is a command line without `touche-rad`."""
    return click.command(name, cls=Command, examples=examples)


def options(*several: Option) -> Callable[[F], F]:
    """Add several options, in the order in which the help shows them."""

    def add(function: F) -> F:
        for one in reversed(several):
            function = one(function)
        return function

    return add


_KINDS: Final = {
    "--debater": ("debater",),
    "--against": ("debater",),
    "--judge": ("judge", "panel"),
    "--also-debater": ("debater",),
    "--also-judge": ("judge",),
    "--retriever": ("retriever",),
    "--annotate": ("annotator",),
}
"""The kinds of plugins that an option names."""


def plugin(*flags: str, **more: Any) -> Option:
    """Return an option that names a plugin, or several with `multiple`."""

    def parse(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
        from touche_rad.plugins.registry import parse_plugin

        if isinstance(value, tuple):
            return [PluginSpec(*parse_plugin(one)) for one in value]
        return PluginSpec(*parse_plugin(value)) if value is not None else None

    name = next(one for one in flags if one.startswith("--"))
    return click.option(
        *flags,
        metavar="NAME",
        callback=parse,
        shell_complete=partial(complete.plugins, _KINDS[name]),
        **more,
    )


def flag(name: str, text: str, *more: str) -> Option:
    """Return an option without a value."""
    return click.option(name, *more, is_flag=True, help=text)


def file(name: str, text: str, metavar: str = "FILE") -> Option:
    """Return an option that is a path."""
    return click.option(name, type=click.Path(path_type=Path), metavar=metavar, help=text)


def integer(
    name: str,
    text: str,
    default: int | None = None,
    least: int = 1,
    most: int | None = None,
    **more: Any,
) -> Option:
    """Return an option for an integer of at least `least`, and at most `most`."""
    return click.option(
        name,
        type=click.IntRange(least, most),
        metavar="N",
        default=default,
        show_default=default is not None,
        help=text,
        **more,
    )


class Number(click.FloatRange):
    """A number in a range; NaN, which is in every range of click, is none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        return self.fail(f"{value!r} is not a number.", param, ctx) if isnan(number) else number


def seconds(name: str, text: str, **more: Any) -> Option:
    """Return an option for a time limit, also read from the environment."""
    variable = f"TOUCHE_RAD_{name.strip('-').replace('-', '_').upper()}"
    return click.option(
        name, type=Number(0, min_open=True), metavar="SECONDS", envvar=variable, help=text, **more
    )


def output(
    text: str,
    metavar: str = "FILE",
    *,
    required: bool = False,
    checked: bool = False,
) -> Option:
    """Return the option `-o`, the output path.

    Args:
        text: The help.
        metavar: The value in the help.
        required: Whether the option is required.
        checked: Refuse, without REPLACE, to write other bytes than an output has. Slow commands
            check their output before they work.
    """

    def parse(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Path | None:
        if value and _KEY_VALUE.match(value):
            raise UserError(f"-o {value}: -o is the output; set an option with -O {value}")
        if value == "":
            raise UserError("-o: expected the name of an output, got an empty text")
        if checked and not ctx.meta.get("show_config"):
            from touche_rad.files.outputs import check_output, keeping

            is_file = metavar == "DIR" and value is not None and Path(value).is_file()
            if is_file:
                check_output(value, replace=ctx.params["replace"])
            else:
                ctx.with_resource(keeping(value, replace=ctx.params["replace"]))
        return Path(value) if value else None

    paths = complete.folders if metavar == "DIR" else complete.files
    return click.option(
        "-o",
        "--output",
        metavar=metavar,
        help=text,
        callback=parse,
        required=required,
        shell_complete=paths,
    )


def plugin_options(main: str | None, *others: str) -> Option:
    """Return the option `-O`; its value is `{plugin: {key: value}}`.

    A flag replaces the value of the settings file for the same key.

    Args:
        main: The plugin of a key without a prefix, if there is one.
        others: The plugins that a prefix can name, beside `model` and `vllm`.
    """
    known = [one for one in (main, *others, "model", "vllm") if one]

    def parse(
        ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
    ) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        from_file = tuple((ctx.default_map or {}).get("options", ()))
        from_flags = () if values == from_file else values
        for text in (*from_file, *from_flags):
            match = _KEY_VALUE.match(text)
            if not match:
                raise UserError(f"-O {text}: expected KEY=VALUE")
            prefix, key, value = match.groups()
            plugin = {"panel": "judge"}.get(prefix, prefix) or main
            if plugin in known:
                found.setdefault(str(plugin), {})[key.replace("-", "_")] = value
            elif text in from_flags:
                names = " or ".join(f"{one}.KEY=VALUE" for one in known)
                raise UserError(f"-O {text}: this command has {names}")
        return found

    example = f"; -O {known[1]}.KEY=VALUE for the {known[1]}" if main else ""
    what = f"Set an option of the {main}{example}" if main else "Set model.KEY or vllm.KEY"
    return click.option(
        "-O",
        "--option",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        callback=parse,
        help=f"{what}; repeatable.",
    )


DEBATER: Final = plugin(
    "-d",
    "--debater",
    default="grounded",
    show_default=True,
    envvar="TOUCHE_RAD_DEBATER",
    help="Debater: NAME or NAME(KEY=VALUE,...); see touche-rad list.",
)
JUDGE: Final = plugin(
    "-j",
    "--judge",
    default="grounded",
    show_default=True,
    envvar="TOUCHE_RAD_JUDGE",
    help="Judge or panel: NAME or NAME(KEY=VALUE,...).",
)
INDEX: Final = click.option(
    "-i",
    "--index",
    envvar="TOUCHE_RAD_INDEX",
    metavar="DIR",
    shell_complete=complete.folders,
    help="Argument index: a folder, elasticsearch:URL/NAME, or demo (the demo collection).",
)
SPARE_INDEX: Final = click.option(
    "--spare-index",
    envvar="TOUCHE_RAD_SPARE_INDEX",
    metavar="DIR",
    shell_complete=complete.folders,
    help="Fallback index, used while the server of the first one is down.",
)
SEED: Final = click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    envvar="TOUCHE_RAD_SEED",
    help="Random seed.",
)
MAX_WORDS: Final = integer(
    "--max-words",
    "Maximum words per response, cut after a sentence; 0 = no limit.",
    60,
    0,
    envvar="TOUCHE_RAD_MAX_WORDS",
)
DEADLINE: Final = seconds(
    "--deadline",
    "Time limit per answer or verdict in seconds; on timeout a fallback gives it. [default: none]",
)
WORKERS: Final = integer(
    "--workers",
    "Number of debates processed and model calls open in parallel. [default: 4; 64 with a model, "
    "unless --deadline or --engine ray is given]",
    most=10_000,
    envvar="TOUCHE_RAD_WORKERS",
)
METADATA: Final = click.option(
    "--metadata/--no-metadata",
    default=None,
    envvar="TOUCHE_RAD_METADATA",
    help="Write ir_metadata (energy, hardware, git state) beside the run. "
    "[default: only under TIRA]",
)
SKIP_BAD: Final = flag("--skip-bad", "Skip invalid input lines and report how many.")
SKIP_BAD_OF_RUNS: Final = flag(
    "--skip-bad", "Skip invalid lines of runs and report how many; truth must be valid."
)
STRICT: Final = flag(
    "--strict", "Stop with exit code 1 at the first result that is not from the selected plugin."
)
REPLACE: Final = click.option(
    "--replace", is_flag=True, is_eager=True, help="Replace an output that exists."
)
RESTART: Final = flag("--restart", "Start from the beginning instead of resuming.")
QUIET: Final = flag("-q", "Print errors only.", "--quiet")
JSON: Final = flag("--json", "Print JSON.", "as_json")


def _parse_shard(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    from touche_rad.runs.shard import Shard

    return Shard.parse(value)


SHARD: Final = click.option(
    "--shard",
    metavar="I/N",
    callback=_parse_shard,
    envvar="TOUCHE_RAD_SHARD",
    help="Process part I of N of the input into RUN.shards; touche-rad merge joins the parts.",
)


ENGINE: Final = click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    envvar="TOUCHE_RAD_ENGINE",
    help="Do the work here, or with Ray: on the cluster of RAY_ADDRESS, or on one that is "
    "started here.",
)
ACTORS: Final = integer(
    "--actors", "With --engine ray: number of worker processes. [default: one per CPU]"
)
RUN: Final = (
    DEADLINE,
    WORKERS,
    SEED,
    SKIP_BAD,
    STRICT,
    REPLACE,
    RESTART,
    METADATA,
    SHARD,
    ENGINE,
    ACTORS,
    QUIET,
)
"""The options of all runs over debates."""

MODEL: Final = click.option(
    "-m",
    "--model",
    envvar="TOUCHE_RAD_MODEL",
    metavar="MODEL",
    help="Language model: URL#MODEL of an OpenAI-compatible server (several separated by commas), "
    "vllm:MODEL to start one, hf:MODEL, or scripted:FILE. "
    "[default: OPENAI_BASE_URL and "
    "OPENAI_MODEL]",
)
CACHE: Final = click.option(
    "--cache",
    envvar=["TOUCHE_RAD_CACHE", "CACHE_DIR"],
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Cache the model's answers here and reuse them.",
)
MAX_CALLS: Final = integer(
    "--max-calls",
    "Maximum model calls per run; after that, plugins work without the model.",
    least=0,
    envvar="TOUCHE_RAD_MAX_CALLS",
)
MAX_TOKENS: Final = integer(
    "--max-tokens",
    "Maximum tokens per run, prompts and answers together.",
    envvar="TOUCHE_RAD_MAX_TOKENS",
)
RUN_DEADLINE: Final = seconds(
    "--run-deadline", "Seconds after which a run makes no more model calls."
)
WITH_TRACE: Final = click.option(
    "--trace/--no-trace",
    default=True,
    show_default=True,
    envvar="TOUCHE_RAD_TRACE",
    help="Write each model call to RUN.trace.jsonl; touche-rad report shows it.",
)
WAIT: Final = seconds(
    "--wait",
    f"Wait for the model's endpoint up to this many seconds; --wait alone: "
    f"{WAIT_SECONDS}. [default: stop at once]",
)
MODEL_OPTIONS: Final = (MODEL, CACHE, MAX_CALLS, MAX_TOKENS, RUN_DEADLINE, WAIT)


DRY_RUN: Final = (
    flag("--dry-run", "Print calls and tokens, estimated from four debates; run nothing."),
)


def path_argument(name: str, metavar: str, **more: Any) -> Option:
    """Return an argument that is a path."""
    return click.argument(name, type=click.Path(path_type=Path), metavar=metavar, **more)


def common(given: Mapping[str, Any]) -> Common:
    """Return the options of a command that is not typed yet."""
    names = {one.name for one in fields(Common)}
    values = {key: value for key, value in given.items() if key in names}
    return Common(**values, plugin_options=PluginOptions(given.get("options", {})))


def select_main(kind: Any, given: Mapping[str, Any]) -> Any:
    """Select the plugin of `-d`, `-j` or `-r`, with its options from `-O`."""
    from touche_rad.cli import prepare

    key = "judge" if kind == "panel" else kind
    return prepare.select(kind, given[key], given["options"].get(key))
